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

/** The result without the server's variables in its standard error, which is kept as a log and quoted in errors. */
export function hideSecrets(spec: ContainerSpec, result: SandboxResult, server: NodeJS.ProcessEnv): SandboxResult {
  let { stderr } = result;
  for (const secret of secretsOf(spec, server)) stderr = stderr.replaceAll(secret, "[redacted]");
  return stderr === result.stderr ? result : { ...result, stderr };
}

/** The values of the server's variables that a skill reads. What is shorter is no secret, and would tear a text to pieces. */
export function secretsOf(spec: ContainerSpec, server: NodeJS.ProcessEnv): string[] {
  return Object.values(spec.env ?? {})
    .map((value) => (typeof value === "string" ? "" : (server[value.fromEnv] ?? "")))
    .filter(({ length }) => length >= shortestSecret);
}

/** Turns the end of a skill's container into its output, or into an error that says what the program did wrong. */
export function readReply(spec: ContainerSpec, result: SandboxResult): ContainerReply {
  const error = failureOf(spec, result);
  if (error !== null) return { output: null, error, result };
  if (spec.output === "text") return { output: result.stdout, error: null, result };
  try {
    return { output: JSON.parse(result.stdout), error: null, result };
  } catch {
    const shown = result.stdout === "" ? "nothing" : JSON.stringify(result.stdout.slice(0, 200));
    const what = spec.reply === "line" ? "a line of JSON" : "one JSON document";
    return {
      output: null,
      error: new SkillError("INVALID_OUTPUT", `The program must print ${what}; it printed ${shown}.`),
      result,
    };
  }
}

function failureOf(spec: ContainerSpec, result: SandboxResult): SkillError | null {
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
    const shown = result.stdout === "" ? "" : ` after ${JSON.stringify(result.stdout.slice(0, 200))}`;
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
