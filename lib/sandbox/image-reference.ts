import { SkillError } from "../errors.js";

/** An image's name in the grammar of OCI references, or its id. */
export interface ImageReference {
  readonly text: string;
  /** With registry and path, as Docker completes short names; `""` for an id. */
  readonly repository: string;
  readonly tag: string | null;
  readonly digest: string | null;
  /** `sha256:...` when the reference is an id. */
  readonly id: string | null;
}

const host = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*(?::[0-9]{1,5})?$/;
const component = /^[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*$/;
const tagForm = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const digestForm = /^[a-z0-9]+(?:[+._-][a-z0-9]+)*:[A-Fa-f0-9]{32,128}$/;
const idForm = /^sha256:[a-f0-9]{64}$/;

/** Parses an image reference. @throws `INVALID_IMAGE`: anything else, flags above all. */
export function parseImageReference(text: string): ImageReference {
  if (typeof text !== "string" || text.length === 0 || text.length > 512) throw invalid(text);
  if (idForm.test(text)) return { text, repository: "", tag: null, digest: null, id: text };
  const [named = "", digest = null, ...rest] = text.split("@");
  if (rest.length > 0 || (digest !== null && !digestForm.test(digest))) throw invalid(text);
  const colon = named.indexOf(":", named.lastIndexOf("/") + 1);
  const path = colon === -1 ? named : named.slice(0, colon);
  const tag = colon === -1 ? null : named.slice(colon + 1);
  if (tag !== null && !tagForm.test(tag)) throw invalid(text);
  return { text, repository: completeRepository(path, text), tag, digest, id: null };
}

/** Whether an allow-list covers an image: by id, by digest, by tag, or, where the entry names neither, by repository. */
export function isImageAllowed(
  allowed: readonly ImageReference[],
  image: ImageReference,
  resolved: { readonly id: string; readonly digests: readonly string[] },
): boolean {
  return allowed.some((entry) => {
    if (entry.id !== null) return entry.id === resolved.id;
    if (entry.digest !== null) return resolved.digests.includes(entry.digest) && image.repository === entry.repository;
    if (image.repository !== entry.repository) return false;
    if (entry.tag === null) return true;
    return image.digest === null && entry.tag === (image.tag ?? "latest");
  });
}

/** Whether an image could be allowed, before anything is fetched. */
export function mayBeAllowed(allowed: readonly ImageReference[], image: ImageReference): boolean {
  return allowed.some((entry) => {
    if (entry.id !== null || image.id !== null) return entry.id === image.id || image.repository !== "";
    if (image.repository !== entry.repository) return false;
    if (entry.digest !== null) return image.digest === null || image.digest === entry.digest;
    return entry.tag === null || (image.digest === null && entry.tag === (image.tag ?? "latest"));
  });
}

/** Whether an image may be fetched. An id on the list is no reason to: what is fetched under a name can have any id. */
export function mayBeFetched(allowed: readonly ImageReference[], image: ImageReference): boolean {
  return mayBeAllowed(
    allowed.filter((entry) => entry.id === null),
    image,
  );
}

function completeRepository(path: string, text: string): string {
  const parts = path.split("/");
  const first = parts[0] ?? "";
  const hasHost = parts.length > 1 && (first === "localhost" || /[.:A-Z]/.test(first));
  if (hasHost && !host.test(first)) throw invalid(text);
  const components = hasHost ? parts.slice(1) : parts;
  if (!components.every((part) => component.test(part)) || path.length > 255) throw invalid(text);
  if (hasHost) return path;
  return components.length === 1 ? `docker.io/library/${path}` : `docker.io/${path}`;
}

function invalid(text: unknown): SkillError {
  const shown = typeof text === "string" ? JSON.stringify(text.slice(0, 120)) : `a ${typeof text}`;
  return new SkillError(
    "INVALID_IMAGE",
    `The image is ${shown}; it must be a reference such as "node:22-alpine" or "ghcr.io/org/name@sha256:...".`,
  );
}
