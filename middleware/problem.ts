import { STATUS_CODES } from "node:http";
import { errorTable, type Fault, isSkillError, type SkillError, type SkillErrorCode } from "../lib/index.js";

/** Problem details (RFC 9457) of an error, without what depends on the request. */
export interface Problem {
  /** `urn:express-skills:error:` and the code in lower case with dashes; `about:blank` for errors of others. */
  readonly type: string;
  /** The same for every occurrence. */
  readonly title: string;
  readonly status: number;
  /** What happened this time, when it may be shown; else the title. */
  readonly detail: string;
  readonly code?: SkillErrorCode;
  readonly executionId?: string;
  readonly faults?: readonly Fault[];
}

/** A problem, and the headers that the error wants to be sent with it. */
export interface DescribedProblem {
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, unknown>>;
}

const MAX_DETAIL_LENGTH = 2_000;

/** Decides what a client may learn of an error. Text of a 5xx is internal, but for codes that the error table marks as safe. */
export function describeProblem(error: unknown): DescribedProblem {
  try {
    return isSkillError(error) ? describeSkillError(error) : describeOther(error);
  } catch {
    // Anything can be thrown, also what throws when it is looked at.
    return describeOther(undefined);
  }
}

function describeSkillError(error: SkillError): DescribedProblem {
  const { code, executionId, faults } = error;
  const known = errorTable[code];
  const shown = error.expose && (error.status < 500 || known.expose);
  const problem: Problem = {
    type: `urn:express-skills:error:${code.toLowerCase().replaceAll("_", "-")}`,
    title: known.title,
    status: error.status,
    detail: shown ? cut(error.message) : known.title,
    code,
    ...(executionId === undefined ? {} : { executionId }),
    ...(shown && faults.length > 0 ? { faults } : {}),
  };
  return { problem, headers: error.headers ?? {} };
}

/** An error of a body parser, of http-errors or of the application: `status` (or `statusCode`), `expose` and `headers` as http-errors has them. */
function describeOther(error: unknown): DescribedProblem {
  const { status, statusCode, expose, message, headers } = Object(error) as Record<string, unknown> satisfies object;
  const answer = [status, statusCode].find(isErrorStatus);
  const title = STATUS_CODES[answer ?? 500] ?? "Error";
  const shown = answer !== undefined && answer < 500 && expose === true && typeof message === "string" && message !== "";
  return {
    problem: { type: "about:blank", title, status: answer ?? 500, detail: shown ? cut(message) : title },
    headers: answer !== undefined && typeof headers === "object" && headers !== null ? (headers as Record<string, unknown>) : {},
  };
}

function isErrorStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 400 && (value as number) < 600;
}

function cut(text: string): string {
  return text.length <= MAX_DETAIL_LENGTH ? text : `${text.slice(0, MAX_DETAIL_LENGTH - 1)}…`;
}
