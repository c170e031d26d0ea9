import type { ExecutionRow, InstanceRow, QueuedWorkRow, SkillRow } from "../../lib/store/rows.js";

/** A UUIDv7 of a time; `n` tells those of one millisecond apart, in order. */
export function idAt(iso: string, n = 0): string {
  const hex = Date.parse(iso).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, "0")}`;
}

export function executionRow(fields: Partial<ExecutionRow> = {}): ExecutionRow {
  const createdAt = fields.created_at ?? "2026-01-01T00:00:00.000Z";
  const id = fields.id ?? idAt(createdAt);
  return {
    id,
    skill_id: "skill-1",
    skill_name: "summarize",
    skill_version: "1.0.0",
    api_key_id: "key-a",
    session_id: null,
    request_id: null,
    parent_id: null,
    root_id: id,
    instance_id: "instance-1",
    status: "RUNNING",
    input: '{"text":"hello"}',
    input_state: "whole",
    output: null,
    output_state: "none",
    error_code: null,
    error_message: null,
    attempts: 1,
    duration_ms: null,
    idempotency_key: null,
    request_hash: null,
    created_at: createdAt,
    finished_at: null,
    sandbox: null,
    log: null,
    ...fields,
  };
}

export function skillRow(fields: Partial<SkillRow> = {}): SkillRow {
  return {
    id: "skill-1",
    api_key_id: "key-a",
    name: "summarize",
    version: "1.0.0",
    description: "",
    enabled: 1,
    mode: "on",
    tags: '["text"]',
    source_provider: null,
    content: '{"schema":{},"handler":"summarize"}',
    content_hash: "hash-1",
    revision: 1,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    deleted_at: null,
    ...fields,
  };
}

/** Work that is due, of the skill and the caller of the other rows. */
export function workRow(fields: Partial<QueuedWorkRow> = {}): QueuedWorkRow {
  const createdAt = fields.created_at ?? "2026-01-01T00:00:00.000Z";
  return {
    id: idAt(createdAt),
    api_key_id: "key-a",
    session_id: null,
    request_id: null,
    skill_id: "skill-1",
    skill_owner: "key-a",
    skill_name: "summarize",
    skill_version: "1.0.0",
    handler: "summarize",
    input: '{"text":"hello"}',
    timeout_ms: null,
    state: "DUE",
    run_at: createdAt,
    priority: 0,
    job_key: null,
    instance_id: null,
    takes: 0,
    idempotent: 0,
    created_at: createdAt,
    ...fields,
  };
}

export function instanceRow(fields: Partial<InstanceRow> = {}): InstanceRow {
  return {
    id: "instance-1",
    host: "host-1",
    pid: 4711,
    started_at: "2026-01-01T00:00:00.000Z",
    heartbeat_at: "2026-01-01T00:00:00.000Z",
    ...fields,
  };
}
