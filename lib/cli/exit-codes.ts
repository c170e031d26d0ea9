import { errorTable, type SkillError, type SkillErrorCode } from "../errors.js";
import type { ExecutionStatus } from "../types.js";

/** What the process answers its caller with; the help prints this table. */
export const exitCodes = Object.freeze({
  ok: [0, "it is done"],
  failed: [1, "the skill failed, or doctor found something broken"],
  usage: [2, "the command line, an input or a definition is not valid"],
  unavailable: [3, "the database or the container engine cannot be used"],
  refused: [4, "there is no such skill or execution, or it is disabled or in conflict"],
  timedOut: [124, "the skill did not finish in time"],
  interrupted: [130, "ended by Ctrl-C before it was done; 143 when by SIGTERM"],
} as const satisfies Record<string, readonly [number, string]>);

export type ExitReason = keyof typeof exitCodes;

export function exitCode(reason: ExitReason): number {
  return exitCodes[reason][0];
}

const byStatus: Readonly<Partial<Record<ExecutionStatus, ExitReason>>> = {
  SUCCESS: "ok",
  TIMEOUT: "timedOut",
  CANCELLED: "interrupted",
};

export function exitCodeOfStatus(status: ExecutionStatus): number {
  return exitCode(byStatus[status] ?? "failed");
}

const byCode: Readonly<Partial<Record<SkillErrorCode, ExitReason>>> = {
  INVALID_OPTION: "usage",
  SKILL_TIMEOUT: "timedOut",
  SKILL_CANCELLED: "interrupted",
  HANDLER_NOT_FOUND: "refused",
  STORE_INVALID: "unavailable",
  STORE_DRIVER_UNAVAILABLE: "unavailable",
};

/** Codes without an entry of their own go by their HTTP status. */
export function exitCodeOfError({ code }: SkillError): number {
  const { status } = errorTable[code];
  const known = byCode[code];
  if (known !== undefined) return exitCode(known);
  if (status === 400 || status === 422) return exitCode("usage");
  if (status === 503) return exitCode("unavailable");
  return exitCode(status < 500 ? "refused" : "failed");
}
