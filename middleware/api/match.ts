import { SkillError } from "../../lib/index.js";
import type { AnyRoute } from "./route.js";

/** The rows whose path a request names, by method. */
export interface Match {
  readonly routes: ReadonlyMap<string, AnyRoute>;
  /** Decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the rows of a path below the mount; where one segment is literal in a row and a parameter in another, the literal one wins. */
export function createMatcher(routes: readonly AnyRoute[]): (path: string) => Match | undefined {
  const paths = new Map<string, Map<string, AnyRoute>>();
  for (const route of routes) {
    const methods = paths.get(route.path) ?? new Map<string, AnyRoute>();
    paths.set(route.path, methods.set(route.method, route));
  }
  const patterns = [...paths].map(([path, methods]) => ({ segments: path.split("/"), methods }));
  patterns.sort((a, b) => parametersOf(a.segments) - parametersOf(b.segments));
  return (path) => {
    const given = path.split("/");
    const found = patterns.find(({ segments }) => fits(segments, given));
    return found && { routes: found.methods, params: readParameters(found.segments, given) };
  };
}

function parametersOf(segments: readonly string[]): number {
  return segments.filter(isParameter).length;
}

function fits(segments: readonly string[], given: readonly string[]): boolean {
  if (segments.length !== given.length) return false;
  return segments.every((segment, index) => (isParameter(segment) ? given[index] !== "" : segment === given[index]));
}

function readParameters(segments: readonly string[], given: readonly string[]): Record<string, string> {
  const params: Record<string, string> = Object.create(null);
  for (const [index, segment] of segments.entries()) {
    if (isParameter(segment)) params[segment.slice(1, -1)] = decode(given[index] ?? "");
  }
  return params;
}

function isParameter(segment: string): boolean {
  return segment.startsWith("{");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new SkillError("INVALID_REQUEST", "The path has a % that begins no encoded character; write %25 for the sign itself.");
  }
}
