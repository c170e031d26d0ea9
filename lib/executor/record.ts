import type { ExecutionRow } from "../store/rows.js";
import type { ExecutionSandbox, ExecutionStatus, SensitiveMarks, SkillExecution } from "../types.js";
import type { AuditEntry } from "./audit.js";
import { storableMessage } from "./outcome.js";
import { type StoredState, toStored } from "./redact.js";

/** What is known of a call when it starts. */
export interface CallFacts {
  readonly id: string;
  readonly skillId: string | null;
  readonly skillName: string;
  readonly skillVersion: string;
  readonly apiKeyId: string;
  readonly sessionId: string | null;
  readonly requestId: string | null;
  readonly parentId: string | null;
  readonly rootId: string;
  readonly instanceId: string;
  readonly createdAt: string;
  /** The input as JSON; `null` for a call that was refused. */
  readonly inputText: string | null;
  readonly inputMarks: SensitiveMarks | undefined;
  readonly outputMarks: SensitiveMarks | undefined;
  readonly idempotencyKey: string | null;
  readonly requestHash: string | null;
}

/** Where a call stands. */
export interface CallState {
  readonly status: ExecutionStatus;
  readonly outputText: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly attempts: number;
  readonly durationMs: number | null;
  readonly finishedAt: string | null;
  readonly sandbox: ExecutionSandbox | null;
  readonly log: string | null;
}

export const RUNNING: CallState = Object.freeze({
  status: "RUNNING",
  outputText: null,
  errorCode: null,
  errorMessage: null,
  attempts: 0,
  durationMs: null,
  finishedAt: null,
  sandbox: null,
  log: null,
});

/** The name that a row has when its reference could not be read. */
export function unreadable(reference: unknown): string {
  return typeof reference === "string" ? storableMessage(reference).slice(0, 100) : "";
}

/** One state of a call as the audit writes it. */
export function toEntry(facts: CallFacts, state: CallState, maxBytes: number): AuditEntry {
  return { id: facts.id, render: () => toRow(facts, state, maxBytes) };
}

/** The row of one state: redacted and cut to `maxBytes`. */
export function toRow(facts: CallFacts, state: CallState, maxBytes: number): ExecutionRow {
  const input = toColumn(facts.inputText, facts.inputMarks, maxBytes);
  const output = toColumn(state.outputText, facts.outputMarks, maxBytes);
  return {
    id: facts.id,
    skill_id: facts.skillId,
    skill_name: facts.skillName,
    skill_version: facts.skillVersion,
    api_key_id: facts.apiKeyId,
    session_id: facts.sessionId,
    request_id: facts.requestId,
    parent_id: facts.parentId,
    root_id: facts.rootId,
    instance_id: facts.instanceId,
    status: state.status,
    input: input.text,
    input_state: input.state,
    output: output.text,
    output_state: output.state,
    error_code: state.errorCode,
    error_message: state.errorMessage,
    attempts: state.attempts,
    duration_ms: state.durationMs,
    idempotency_key: facts.idempotencyKey,
    request_hash: facts.requestHash,
    created_at: facts.createdAt,
    finished_at: state.finishedAt,
    sandbox: state.sandbox === null ? null : JSON.stringify(state.sandbox),
    log: state.log,
  };
}

function toColumn(
  text: string | null,
  marks: SensitiveMarks | undefined,
  maxBytes: number,
): { text: string | null; state: StoredState } {
  return text === null ? { text: null, state: "none" } : toStored(text, marks, maxBytes);
}

/** The execution that a call returns: input and output complete. */
export function toExecution(facts: CallFacts, state: CallState, input: unknown, output: unknown): SkillExecution<unknown> {
  return {
    id: facts.id,
    skillId: facts.skillId,
    skillName: facts.skillName,
    skillVersion: facts.skillVersion,
    apiKeyId: facts.apiKeyId,
    sessionId: facts.sessionId,
    requestId: facts.requestId,
    parentId: facts.parentId,
    rootId: facts.rootId,
    status: state.status,
    input,
    output,
    errorCode: state.errorCode,
    errorMessage: state.errorMessage,
    attempts: state.attempts,
    durationMs: state.durationMs,
    createdAt: facts.createdAt,
    finishedAt: state.finishedAt,
    ...(state.sandbox !== null && { sandbox: state.sandbox }),
    ...(state.log !== null && { log: state.log }),
  };
}

/** The execution that a stored row describes: input and output as stored. */
export function fromRow(row: ExecutionRow): SkillExecution<unknown> {
  return {
    id: row.id,
    skillId: row.skill_id,
    skillName: row.skill_name,
    skillVersion: row.skill_version,
    apiKeyId: row.api_key_id,
    sessionId: row.session_id,
    requestId: row.request_id,
    parentId: row.parent_id,
    rootId: row.root_id,
    status: row.status as ExecutionStatus,
    input: parsed(row.input),
    output: parsed(row.output),
    errorCode: row.error_code,
    errorMessage: row.error_message,
    attempts: row.attempts,
    durationMs: row.duration_ms,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
    ...(row.sandbox !== null && { sandbox: parsed(row.sandbox) as ExecutionSandbox }),
    ...(row.log !== null && { log: row.log }),
  };
}

/** The last `maxBytes` bytes of a text, without half a character at the front, and without NUL, which PostgreSQL does not take. */
export function tailOf(text: string, maxBytes: number): string {
  const clean = text.replaceAll("\0", "");
  const bytes = Buffer.from(clean);
  if (bytes.length <= maxBytes) return clean;
  let from = bytes.length - maxBytes;
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from++;
  return bytes.subarray(from).toString();
}

/** A row damaged by hand shows its text instead of hiding the others of its list. */
function parsed(text: string | null): unknown {
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
