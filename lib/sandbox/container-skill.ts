import { createHash } from "node:crypto";
import { SkillError } from "../errors.js";
import type { ContainerEnvValue, ContainerSpec, SandboxConfig, SandboxResult } from "../types.js";
import { lastLine } from "./probe.js";

/** What a container skill answered: its output, or why there is none; and how its container ended. */
export type ContainerReply =
  | { readonly output: unknown; readonly error: null; readonly result: SandboxResult }
  | { readonly output: null; readonly error: SkillError; readonly result: SandboxResult };

/** The input as the program reads it: one JSON document and a newline. */
export function renderInput(input: unknown): string {
  return `${JSON.stringify(input ?? null)}\n`;
}

/** Limits and files of a skill's container. */
export function configOf(spec: ContainerSpec, timeoutMs: number, signal: AbortSignal | undefined): SandboxConfig {
  const { image: _image, command: _command, env: _env, reply: _reply, output: _output, warm: _warm, ...rest } = spec;
  return { ...rest, timeoutMs, signal };
}

/**
 * Values of a skill's variables, with those of the server that the operator allows.
 * @throws `INVALID_ENV` for a variable that is not allowed, or that the server does not have
 */
export function resolveEnv(
  env: Readonly<Record<string, ContainerEnvValue>>,
  allowed: ReadonlySet<string>,
  server: NodeJS.ProcessEnv,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).map(([name, value]) => {
      if (typeof value === "string") return [name, value];
      const from = value?.fromEnv;
      if (typeof from !== "string" || !allowed.has(from)) {
        throw new SkillError("INVALID_ENV", `env.${name} asks for a variable of the server that is not in sandbox.allowEnv.`);
      }
      const found = server[from];
      if (found === undefined)
        throw new SkillError("INVALID_ENV", `env.${name} asks for ${from}, which the server does not have.`);
      return [name, found];
    }),
  );
}

const shortestSecret = 4;

/**
 * The values that a skill's container was given of the server's variables, the longest first: others can be part of it. What is shorter is
 * no secret, and would tear a text to pieces.
 */
export function secretsOf(spec: ContainerSpec, env: Readonly<Record<string, string>>): string[] {
  return Object.entries(spec.env ?? {})
    .map(([name, value]) => (typeof value === "string" ? "" : (env[name] ?? "")))
    .filter(({ length }) => length >= shortestSecret)
    .sort((a, b) => b.length - a.length);
}

/** Takes secrets out of a text; `isCut` when the text was cut off at its end, perhaps in the middle of one. */
export type Hide = (text: string, isCut: boolean) => string;

/** Hides secrets in what is kept as a log or quoted in errors. */
export function createHiding(secrets: readonly string[]): Hide {
  return (text, isCut) => {
    const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
    if (!isCut) return hidden;
    const cut = Math.max(0, ...secrets.map((secret) => lengthOfBeginning(secret, hidden)));
    return cut < shortestSecret ? hidden : `${hidden.slice(0, -cut)}[redacted]`;
  };
}

/** How much of the secret's beginning the text ends with. */
function lengthOfBeginning(secret: string, text: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length > 0; length--)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}

/** Turns the end of a skill's container into its output, or into an error that says what the program did wrong. */
export function readReply(spec: ContainerSpec, end: SandboxResult, hide: Hide): ContainerReply {
  const result = { ...end, stderr: hide(end.stderr, end.stderrTruncated) };
  const quote = () => JSON.stringify(hide(result.stdout, result.stdoutTruncated).slice(0, shownCharacters));
  const error = failureOf(spec, result, quote);
  if (error !== null) return { output: null, error, result };
  if (spec.output === "text") return { output: result.stdout, error: null, result };
  try {
    return { output: JSON.parse(result.stdout), error: null, result };
  } catch {
    const shown = result.stdout === "" ? "nothing" : quote();
    const what = spec.reply === "line" ? "a line of JSON" : "one JSON document";
    const message = `The program must print ${what}; it printed ${shown}.`;
    return { output: null, error: new SkillError("INVALID_OUTPUT", message), result };
  }
}

const shownCharacters = 200;

function failureOf(spec: ContainerSpec, result: SandboxResult, quote: () => string): SkillError | null {
  if (result.timedOut) return new SkillError("SKILL_TIMEOUT", "The container was ended at its time limit.");
  if (result.aborted) return new SkillError("SKILL_CANCELLED", "The container was ended because the call was cancelled.");
  if (result.killed) {
    const stream = result.stdoutTruncated ? "standard output" : "standard error";
    return new SkillError("INVALID_OUTPUT", `The program printed more to its ${stream} than is allowed, and was ended.`);
  }
  if (result.oomKilled)
    return new SkillError(
      "SKILL_FAILED",
      `The program was ended by the kernel because it used too much memory.${lastWords(result)}`,
    );
  if (result.signal !== null)
    return new SkillError("SKILL_FAILED", `The program was ended by ${result.signal}.${lastWords(result)}`);
  if (result.exitCode !== null && result.exitCode !== 0) {
    return new SkillError("SKILL_FAILED", `The program ended with exit code ${result.exitCode}.${lastWords(result)}`);
  }
  // With an exit code the program has ended, and its line never came.
  if (spec.reply === "line" && result.exitCode !== null) {
    const shown = result.stdout === "" ? "" : ` after ${quote()}`;
    return new SkillError("INVALID_OUTPUT", `The program ended before it had printed a whole line${shown}.`);
  }
  return null;
}

const shownLines = 5;

function lastWords(result: SandboxResult): string {
  if (lastLine(result.stderr) === null) return "";
  const lines = result.stderr.trimEnd().split("\n").slice(-shownLines);
  return ` Its last words: ${lines.join("\n").slice(-1000)}`;
}

/** Everything in which two containers of skills could differ; anything else in it is a different slot. */
export function slotKey(parts: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(parts, (_name, value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value,
  );
  return createHash("sha256").update(text).digest("hex");
}
