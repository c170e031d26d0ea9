import { type Fault, SkillError } from "../errors.js";
import type { ExecutionStatus } from "../types.js";

const MAX_MESSAGE_LENGTH = 4_096;

export interface Success {
  readonly status: "SUCCESS";
  readonly output: unknown;
  /** The output as JSON. */
  readonly text: string;
  readonly error?: undefined;
}

export interface Failure {
  readonly status: Extract<ExecutionStatus, "ERROR" | "TIMEOUT" | "CANCELLED">;
  /** What `run()` throws. */
  readonly error: SkillError;
  /** Whether another attempt could end otherwise. */
  readonly retryable: boolean;
}

/** How the work of one call ended. */
export type Outcome = Success | Failure;

/** Whether an outcome speaks against the skill: not a caller that left, nor an answer that the skill meant. */
export function isFailure(outcome: Outcome): boolean {
  return outcome.status === "TIMEOUT" || (outcome.status === "ERROR" && outcome.error.status >= 500);
}

/** The outcome of work that was ended by its signal. */
export function toAborted(reason: SkillError): Failure {
  return { status: reason.code === "SKILL_TIMEOUT" ? "TIMEOUT" : "CANCELLED", error: reason, retryable: false };
}

export function toInvalidOutput(skill: string, faults: readonly Fault[]): Failure {
  const first = faults[0];
  const where = first === undefined || first.pointer === "" ? "the output" : `the output at ${first.pointer}`;
  const message = `${skill} returned an output that is not valid: ${where} ${first?.message ?? "does not match"}.`;
  return { status: "ERROR", error: new SkillError("INVALID_OUTPUT", message, { faults }), retryable: false };
}

/**
 * The outcome of a handler that threw: anything can be thrown. A 4xx status passes through only when the error says `expose: true`, as
 * http-errors does; the error of a skill that the handler called is the handler's failure, not the caller's.
 */
export function toFailure(thrown: unknown): Failure {
  const message = messageOf(thrown);
  const { answer, refused } = readThrown(thrown);
  return {
    status: "ERROR",
    error: new SkillError("SKILL_FAILED", message, { cause: thrown, ...answer }),
    retryable: answer === undefined && !refused,
  };
}

interface Thrown {
  /** What the handler meant for the client. */
  readonly answer?: { readonly status: number; readonly expose: true };
  /** Whether a skill that the handler called failed for good. */
  readonly refused?: boolean;
}

function readThrown(thrown: unknown): Thrown {
  if (typeof thrown !== "object" || thrown === null) return {};
  try {
    if (thrown instanceof SkillError && thrown.executionId !== undefined) return { refused: !thrown.retryable };
    const { expose, status, statusCode } = thrown as { expose?: unknown; status?: unknown; statusCode?: unknown };
    const answer = status ?? statusCode;
    if (expose !== true || !Number.isInteger(answer)) return {};
    return (answer as number) >= 400 && (answer as number) < 500 ? { answer: { status: answer as number, expose: true } } : {};
  } catch {
    return {};
  }
}

/** The text of anything that can be thrown, as a row stores it. */
export function messageOf(thrown: unknown): string {
  let text: string;
  try {
    text = thrown instanceof Error ? String(thrown.message) || String(thrown.name) : String(thrown);
  } catch {
    text = "The handler threw a value that has no text.";
  }
  return storableMessage(text);
}

/** Error text as a row stores it: at most 4,096 characters, without NUL, which PostgreSQL does not take. */
export function storableMessage(text: string): string {
  const head = text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
  return head.replaceAll("\0", "");
}
