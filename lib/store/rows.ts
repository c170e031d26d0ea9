/**
 * The tables, as Kysely types. Times are ISO 8601 UTC text, JSON is text that only this room parses, booleans are mapped at
 * this room's edge.
 */

export interface SkillsTable {
  id: string;
  api_key_id: string;
  name: string;
  version: string;
  description: string;
  /** 0 or 1. */
  enabled: number;
  mode: string;
  /** JSON array of strings. */
  tags: string;
  source_provider: string | null;
  /** JSON of everything immutable per version: schema, outputSchema, handler or container, patterns, run policy. */
  content: string;
  content_hash: string;
  /** The catalogue's revision at the last change of this row. */
  revision: number;
  created_at: string;
  updated_at: string;
  /** Set by unregister: the row stays as a tombstone. */
  deleted_at: string | null;
}

export interface CatalogueTable {
  /** Always 1. */
  id: number;
  revision: number;
}

export interface SettingsTable {
  key: string;
  /** JSON. */
  value: string;
}

export interface ExecutionsTable {
  id: string;
  skill_id: string | null;
  skill_name: string;
  skill_version: string;
  api_key_id: string;
  session_id: string | null;
  request_id: string | null;
  parent_id: string | null;
  root_id: string;
  instance_id: string;
  status: string;
  /** JSON, or null when the call was denied. */
  input: string | null;
  /** Whether `input` is what the caller sent: `whole`, `redacted`, `cut` or `none`. */
  input_state: string;
  output: string | null;
  output_state: string;
  error_code: string | null;
  error_message: string | null;
  attempts: number;
  duration_ms: number | null;
  idempotency_key: string | null;
  /** Hash of skill and whole input, to tell another request under the same key. */
  request_hash: string | null;
  created_at: string;
  finished_at: string | null;
  /** JSON of how the skill's container ended. */
  sandbox: string | null;
  /** The last of what containers wrote to their standard error. */
  log: string | null;
}

export interface InstancesTable {
  id: string;
  host: string;
  pid: number;
  started_at: string;
  heartbeat_at: string;
}

/** Work for later: there from the moment it is enqueued until its execution has ended. */
export interface QueuedWorkTable {
  /** The execution's. */
  id: string;
  /** Who enqueued it. */
  api_key_id: string;
  session_id: string | null;
  request_id: string | null;
  /** The version that was chosen when it was enqueued, and its owner. */
  skill_id: string;
  skill_owner: string;
  skill_name: string;
  skill_version: string;
  /** What did its work when it was enqueued; null for a container. */
  handler: string | null;
  /** JSON, whole. */
  input: string;
  timeout_ms: number | null;
  /** `LATER` before `run_at`, `DUE` from then on, `TAKEN` while an instance has it. */
  state: string;
  run_at: string;
  /** Smaller runs first. */
  priority: number;
  /** Of the owner's waiting work; gone once it is taken. */
  job_key: string | null;
  /** Who has it; null while it waits. */
  instance_id: string | null;
  /** How often it was taken. */
  takes: number;
  /** 0 or 1: whether it may be taken again when the instance that has it is dead. */
  idempotent: number;
  created_at: string;
}

/** Executions that another instance shall end. */
export interface CancelRequestsTable {
  execution_id: string;
  /** Who runs it. */
  instance_id: string;
  requested_at: string;
}

/** Pools of graphile-worker, which lock jobs under their ids. */
export interface JobPoolsTable {
  id: string;
  instance_id: string;
}

/** What queued work says while it runs, for other instances to read. */
export interface ExecutionTracesTable {
  execution_id: string;
  /** JSON of its last progress and its last lines. */
  trace: string;
  updated_at: string;
}

export interface Tables {
  skills: SkillsTable;
  catalogue: CatalogueTable;
  settings: SettingsTable;
  skill_executions: ExecutionsTable;
  instances: InstancesTable;
  queued_work: QueuedWorkTable;
  job_pools: JobPoolsTable;
  cancel_requests: CancelRequestsTable;
  execution_traces: ExecutionTracesTable;
}

export type SkillRow = SkillsTable;
/** A row of `skills` without its content: what the catalogue loads. */
export type SkillHeadRow = Omit<SkillsTable, "content">;
export type ExecutionRow = ExecutionsTable;
export type InstanceRow = InstancesTable;
export type QueuedWorkRow = QueuedWorkTable;
