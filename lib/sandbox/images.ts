import { isSkillError, SkillError } from "../errors.js";
import { runCli } from "./cli.js";
import type { Engine } from "./engine-table.js";
import { type ImageReference, isImageAllowed, mayBeAllowed, mayBeFetched, parseImageReference } from "./image-reference.js";
import { lastLine } from "./probe.js";

/** An image that the engine has. */
export interface ResolvedImage {
  readonly id: string;
  readonly digests: readonly string[];
  /** Folders that the image declares as volumes. */
  readonly volumes: readonly string[];
}

export interface Images {
  /**
   * Finds an image, fetching it where `pull` says so; at once for a name found within the last seconds.
   * @throws `INVALID_IMAGE` `IMAGE_NOT_ALLOWED` `IMAGE_NOT_FOUND` `IMAGE_PULL_TIMEOUT` `SANDBOX_UNAVAILABLE`
   */
  resolve(engine: Engine, name: string, pull: Pull): Promise<ResolvedImage>;
  /** The engine no longer has what `resolve` said. */
  forget(engine: Engine, name: string): void;
}

export interface ImagesOptions {
  /** Images that may be used; `undefined` is all. */
  readonly allowed: readonly string[] | undefined;
  readonly pullTimeoutMs: number;
  /** Ends what is being fetched. */
  readonly life: AbortSignal;
}

type Pull = "missing" | "never" | "always";

const foundKeptMs = 30_000;
const failureKeptMs = 10_000;
const inspectLimitMs = 10_000;
const knownImages = 1000;

interface Known {
  readonly image: Promise<ResolvedImage>;
  until: number;
}

export function createImages(options: ImagesOptions): Images {
  const allowed = options.allowed?.map(parseImageReference);
  const known = new Map<string, Known>();
  return {
    async resolve(engine, name, asked) {
      const reference = parseImageReference(name);
      if (allowed !== undefined && !mayBeAllowed(allowed, reference)) throw notAllowed(name);
      const pull = allowed === undefined || mayBeFetched(allowed, reference) ? asked : "never";
      const key = `${engine.traits.name} ${pull} ${name}`;
      let entry = known.get(key);
      if (entry === undefined || entry.until < performance.now()) {
        // One look-up, and one pull, however many ask at the same time.
        entry = { image: find(engine, reference, pull, options), until: Number.POSITIVE_INFINITY };
        remember(known, key, entry);
      }
      const image = await entry.image.catch((error: unknown) => {
        throw pull !== asked && isSkillError(error) && error.code === "IMAGE_NOT_FOUND" ? notAllowed(name) : error;
      });
      if (allowed !== undefined && !isImageAllowed(allowed, reference, image)) throw notAllowed(name);
      return image;
    },
    forget(engine, name) {
      for (const pull of ["missing", "never", "always"]) known.delete(`${engine.traits.name} ${pull} ${name}`);
    },
  };
}

function remember(known: Map<string, Known>, key: string, entry: Known): void {
  known.delete(key);
  known.set(key, entry);
  const oldest = known.keys().next().value;
  if (known.size > knownImages && oldest !== undefined) known.delete(oldest);
  entry.image.then(
    () => {
      entry.until = performance.now() + foundKeptMs;
    },
    () => {
      entry.until = performance.now() + failureKeptMs;
    },
  );
}

async function find(engine: Engine, reference: ImageReference, pull: Pull, options: ImagesOptions): Promise<ResolvedImage> {
  if (pull !== "always") {
    const image = await inspectImage(engine, reference.text);
    if (image !== null) return image;
    if (pull === "never" || reference.id !== null) {
      throw new SkillError(
        "IMAGE_NOT_FOUND",
        `The image ${reference.text} does not exist in ${engine.traits.name}, and is not to be pulled.`,
      );
    }
  }
  await pullImage(engine, reference, options);
  const image = await inspectImage(engine, reference.text);
  if (image === null)
    throw new SkillError(
      "IMAGE_NOT_FOUND",
      `The image ${reference.text} was pulled, but ${engine.traits.name} does not find it.`,
    );
  return image;
}

/** What the engine knows of an image; `null` when it has none of that name. */
async function inspectImage(engine: Engine, name: string): Promise<ResolvedImage | null> {
  const outcome = await runCli(engine, ["image", "inspect", "--format", "{{json .}}", "--", name], inspectLimitMs);
  if (outcome.code !== 0) {
    if (/no such (image|object)|image not known/i.test(outcome.stderr)) return null;
    throw unavailable(engine, outcome.timedOut ? `it did not answer within ${inspectLimitMs} ms` : lastLine(outcome.stderr));
  }
  const parsed = parseInspection(outcome.stdout);
  if (parsed === null) throw unavailable(engine, "it described the image in a way that is not understood");
  return parsed;
}

function parseInspection(text: string): ResolvedImage | null {
  try {
    const said: unknown = JSON.parse(text);
    const image = (Array.isArray(said) ? said[0] : said) as {
      Id: string;
      Digest?: string;
      RepoDigests?: string[] | null;
      Config?: { Volumes?: Record<string, unknown> | null } | null;
    };
    const digests = (image.RepoDigests ?? []).map((entry) => entry.slice(entry.indexOf("@") + 1));
    return {
      id: image.Id.startsWith("sha256:") ? image.Id : `sha256:${image.Id}`,
      digests: image.Digest === undefined ? digests : [...digests, image.Digest],
      volumes: Object.keys(image.Config?.Volumes ?? {}),
    };
  } catch {
    return null;
  }
}

async function pullImage(
  engine: Engine,
  reference: ImageReference,
  { pullTimeoutMs: limitMs, life }: ImagesOptions,
): Promise<void> {
  const name = engine.traits.pullsQualifiedNamesOnly ? qualifiedName(reference) : reference.text;
  const outcome = await runCli(engine, ["pull", "--quiet", "--", name], limitMs, {
    variables: engine.traits.fetchesItself ? engine.proxies() : {},
    signal: life,
  });
  if (outcome.code === 0) return;
  if (life.aborted) throw new SkillError("SHUTTING_DOWN", "The sandbox is closed.");
  if (outcome.timedOut) {
    throw new SkillError("IMAGE_PULL_TIMEOUT", `The image ${name} was not pulled within ${limitMs} ms.`, {
      retryAfterMs: failureKeptMs,
    });
  }
  if (outcome.startError !== null || /cannot connect|error during connect|is the docker daemon running/i.test(outcome.stderr)) {
    throw unavailable(engine, outcome.startError ?? lastLine(outcome.stderr));
  }
  throw new SkillError(
    "IMAGE_NOT_FOUND",
    `The image ${name} is not there and could not be pulled: ${lastLine(outcome.stderr) ?? "no reason given"}`,
  );
}

function qualifiedName(reference: ImageReference): string {
  const tag = reference.tag === null ? "" : `:${reference.tag}`;
  // A name with both a tag and a digest is not accepted everywhere; the digest says more.
  return reference.digest === null ? `${reference.repository}${tag}` : `${reference.repository}@${reference.digest}`;
}

function notAllowed(name: string): SkillError {
  return new SkillError("IMAGE_NOT_ALLOWED", `The image ${name} is not on the list of allowed images.`);
}

export function unavailable(engine: Engine, reason: string | null): SkillError {
  return new SkillError("SANDBOX_UNAVAILABLE", `The engine ${engine.traits.name} failed: ${reason ?? "no reason given"}`, {
    retryAfterMs: 5000,
  });
}
