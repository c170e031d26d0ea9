import { existsSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { SkillError } from "../errors.js";
import type { SandboxResult } from "../types.js";
import type { Container, Ending } from "./container.js";
import { type ContainerState, inspectContainer } from "./container-state.js";
import { unavailable } from "./images.js";
import { lastLine } from "./probe.js";

export interface OutcomeContext {
  readonly image: string;
  /** Working directory of the command line program. */
  readonly cwd: string;
  readonly servedFrom: "warm" | "cold";
  readonly warnings: readonly string[];
}

/**
 * Decides how a container ended, in this order: we ended it, the kernel killed it for memory, its program exited. Only an abnormal
 * end costs a question to the engine.
 * @throws `START_FAILED` `COMMAND_NOT_FOUND` `IMAGE_NOT_FOUND` `ENV_TOO_LARGE` `SANDBOX_UNAVAILABLE`: problems of the engine, which
 * its exit codes 125, 126 and 127 do not tell from the program's own.
 */
export async function decideOutcome(container: Container, ending: Ending, context: OutcomeContext): Promise<SandboxResult> {
  if (ending.reason === "startTimeout") {
    throw new SkillError("START_FAILED", `The container did not start within ${container.limits.startTimeoutMs} ms.`, {
      retryAfterMs: 5000,
    });
  }
  if (ending.reason !== null)
    return resultOf(container, ending, context, { exitCode: null, oomKilled: hasOomEvidence(container, ending, context) });
  if (ending.spawnError !== null) throw spawnFailure(container, ending.spawnError);
  const code = ending.code ?? ending.toldCode;
  if (code === 0) return resultOf(container, ending, context, { exitCode: 0, oomKilled: false });
  const state = await stateOf(container, ending);
  if (!state.started) throw startFailure(container, state, ending.code);
  if (state.running || (code !== null && code !== state.exitCode)) {
    throw unavailable(
      container.engine,
      `the connection to the container was lost: ${lastLine(container.stderr.tail()) ?? "no reason given"}`,
    );
  }
  const oomKilled = state.oomKilled || hasOomEvidence(container, ending, context);
  return resultOf(container, ending, context, { exitCode: state.exitCode, oomKilled });
}

async function stateOf(container: Container, ending: Ending): Promise<ContainerState> {
  const inspection = await inspectContainer(container.engine, container.name);
  if ("state" in inspection) return inspection.state;
  if ("failure" in inspection) throw unavailable(container.engine, inspection.failure || "inspect failed");
  // It was never created, or somebody removed it.
  if (container.isStarted) throw unavailable(container.engine, "the container was removed by somebody else while it ran");
  return { started: false, running: false, exitCode: ending.code ?? -1, oomKilled: false, error: "" };
}

function hasOomEvidence(container: Container, ending: Ending, context: OutcomeContext): boolean {
  return ending.oomTold || (container.engine.traits.leavesOomFile && existsSync(join(context.cwd, "oom")));
}

/** What is known of a container whose answer is complete while it may still run. */
export function answeredResult(container: Container, context: OutcomeContext): SandboxResult {
  const ending = { reason: null, ...container.times() };
  const result = resultOf(container, ending, context, { exitCode: null, oomKilled: false });
  return { ...result, stdout: container.stdout.firstLine() ?? "", stdoutTruncated: false };
}

function resultOf(
  container: Container,
  ending: Pick<Ending, "reason" | "startupMs" | "durationMs">,
  context: OutcomeContext,
  end: { readonly exitCode: number | null; readonly oomKilled: boolean },
): SandboxResult {
  const killed = ending.reason !== null;
  const signal = killed ? "SIGKILL" : signalOf(end.exitCode);
  const { text, warnings } = splitWarnings(container.stderr.text());
  return {
    id: container.name,
    runtime: container.engine.traits.name,
    image: context.image,
    exitCode: signal === null ? end.exitCode : null,
    signal,
    stdout: container.stdout.text(),
    stderr: text,
    stdoutTruncated: container.stdout.truncated,
    stderrTruncated: container.stderr.truncated,
    durationMs: Math.round(ending.durationMs),
    startupMs: startupOf(ending, context),
    killed,
    timedOut: ending.reason === "timeout",
    aborted: ending.reason === "abort" || ending.reason === "drain",
    oomKilled: end.oomKilled,
    servedFrom: context.servedFrom,
    warnings: [...context.warnings, ...warnings],
  };
}

/** A container that was started ahead cost the caller no start. */
function startupOf(ending: Pick<Ending, "startupMs">, context: OutcomeContext): number | null {
  if (context.servedFrom === "warm") return 0;
  return ending.startupMs === null ? null : Math.round(ending.startupMs);
}

/** Only 137 is a signal for sure: programs use other codes above 128 as they like, and nobody but the kernel and we send this one. */
function signalOf(exitCode: number | null): string | null {
  return exitCode === 128 + constants.signals.SIGKILL ? "SIGKILL" : null;
}

// What engines print in front of the program's own stderr.
const engineWarning =
  /^(WARNING: (Your kernel does not support|The requested image's platform|IPv4 forwarding is disabled|No (swap|memory|cpu) )|time="[^"]*" level=warning )/;

/** Whether a text begins with a line that the engine printed, not the program. */
export function isEngineWarning(text: string): boolean {
  return engineWarning.test(text);
}

function splitWarnings(stderr: string): { readonly text: string; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  let rest = stderr;
  while (isEngineWarning(rest)) {
    const end = rest.indexOf("\n");
    warnings.push(end === -1 ? rest : rest.slice(0, end));
    rest = end === -1 ? "" : rest.slice(end + 1);
  }
  return { text: rest, warnings };
}

function spawnFailure(container: Container, code: string): SkillError {
  if (code === "E2BIG")
    return new SkillError(
      "ENV_TOO_LARGE",
      "The command and env together are too large for this machine. Send large data as stdin or files.",
    );
  return unavailable(container.engine, `${container.engine.binary} could not be started (${code})`);
}

// Messages of engines and runtimes that have a known cure.
const cures: readonly (readonly [RegExp, string])[] = [
  [/setrlimit|RLIMIT/i, "The engine's default limits exceed what this machine allows: set default_ulimits in containers.conf."],
  [/range of cpus|CPUs available/i, "Ask for fewer CPUs."],
  [/minimum memory|memory limit/i, "Ask for more memory."],
  [/unknown runtime|invalid runtime|runtime .* not found/i, "Install the runtime, or leave out the option runtime."],
  [/network .* not found|unable to find network/i, "Create the network, or name another one."],
  [/no space left/i, "Free disk space for the engine."],
  [/cgroup/i, "The engine cannot use this machine's cgroups: see the engine's own documentation."],
  [/seccomp/i, "The kernel or the engine lacks seccomp."],
];

function startFailure(container: Container, state: ContainerState, code: number | null): SkillError {
  const said = container.stderr.tail();
  const text = `${said}\n${state.error}`;
  const reason = (lastLine(said) ?? state.error) || "no reason given";
  const engine = container.engine.traits.name;
  if (/no such image|image not known/i.test(text)) return new SkillError("IMAGE_NOT_FOUND", `The image is gone: ${reason}`);
  if (/cannot connect|error during connect|is the docker daemon running/i.test(text))
    return unavailable(container.engine, reason);
  if ((code === 127 || code === 126) && /exec: ?"|executable file|command that was not found/i.test(text)) {
    return new SkillError("COMMAND_NOT_FOUND", `The container's command cannot be run: ${reason}`);
  }
  const cure = cures.find(([pattern]) => pattern.test(text))?.[1];
  return new SkillError(
    "START_FAILED",
    `${engine} did not start the container: ${reason}${cure === undefined ? "" : ` ${cure}`}`,
  );
}
