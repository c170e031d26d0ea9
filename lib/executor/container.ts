import { SkillError, type SkillErrorCode } from "../errors.js";
import type { ContainerSpec, ExecutionSandbox, Skill } from "../types.js";
import { MAX_TIMEOUT_MS } from "./deadline.js";
import type { RegisteredHandler } from "./handlers.js";
import { type Failure, toAborted } from "./outcome.js";
import { type ContainerTrace, runningCall } from "./running.js";

/** What the executor needs of a sandbox. */
export interface ContainerServer {
  /** Has a skill's container answer one input. Only problems of engine, image and definition are thrown. */
  serve(spec: ContainerSpec, input: unknown, call: ContainerCall): Promise<ContainerAnswer>;
}

export interface ContainerCall {
  readonly owner: string;
  readonly skillId: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called when the program runs and has been given its input. */
  readonly onStart: () => void;
  /** Called with lines of the program's standard error while it runs. */
  readonly onErrorOutput: ((text: string) => void) | undefined;
}

export interface ContainerAnswer {
  readonly output: unknown;
  /** Why there is no output. */
  readonly error: SkillError | null;
  readonly result: ExecutionSandbox & { readonly stderr: string };
}

/** How long a container whose call was ended may take to end before the call is answered without its trace. */
export const containerGraceMs = 5_000;
/** The call's own clock ends the container; the sandbox's is for a call that forgot it. */
const SLACK_MS = 5_000;

/** Does a container skill's work. The time until its program has the input is the engine's, with limits of its own, and does not count. */
export function createContainerHandler(server: ContainerServer, skill: Skill): RegisteredHandler {
  return {
    isContainer: true,
    async run(input: unknown) {
      const call = runningCall.getStore();
      const { id, name, version, apiKeyId, container } = skill;
      if (call === undefined || container === null)
        throw new SkillError("STORED_SKILL_INVALID", `${name}@${version} has neither a handler nor a container.`);
      const { deadline } = call;
      const timeoutMs = Math.min(MAX_TIMEOUT_MS, Math.ceil(Math.max(0, deadline.endsAtMs - performance.now())) + SLACK_MS);
      let isCounting = false;
      const onStart = () => {
        if (!isCounting) deadline.resume();
        isCounting = true;
      };
      deadline.pause();
      try {
        const { signal } = deadline;
        const options = { owner: apiKeyId, skillId: id, timeoutMs, signal, onStart, onErrorOutput: call.onContainerLines };
        const answer = await server.serve(container, input, options);
        call.onContainer?.(traceOf(answer));
        if (answer.error !== null) throw answer.error;
        return answer.output;
      } finally {
        onStart();
      }
    },
  };
}

/** Errors of the definition and its image: no caller made them, and none needs their text. */
const INTERNAL = new Set<SkillErrorCode>([
  "INVALID_IMAGE",
  "INVALID_COMMAND",
  "INVALID_ENV",
  "ENV_TOO_LARGE",
  "IMAGE_NOT_ALLOWED",
  "INVALID_OPTION",
]);

/** The outcome of a container skill that gave no output: what went wrong with engine and image keeps its own code. */
export function toContainerFailure(thrown: unknown): Failure {
  if (!(thrown instanceof SkillError))
    return { status: "ERROR", error: new SkillError("SKILL_FAILED", String(thrown), { cause: thrown }), retryable: false };
  const { code, message, retryAfterMs } = thrown;
  if (code === "SKILL_TIMEOUT" || code === "SKILL_CANCELLED" || code === "SHUTTING_DOWN") return toAborted(thrown);
  const error = INTERNAL.has(code)
    ? new SkillError(code, message, { cause: thrown, expose: false, ...(retryAfterMs !== undefined && { retryAfterMs }) })
    : thrown;
  return { status: "ERROR", error, retryable: code === "SKILL_FAILED" || thrown.retryable };
}

function traceOf({ result }: ContainerAnswer): ContainerTrace {
  const { runtime, image, exitCode, oomKilled, servedFrom, startupMs, stderr } = result;
  return { sandbox: { runtime, image, exitCode, oomKilled, servedFrom, startupMs }, stderr };
}
