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

export interface Tables {
  skills: SkillsTable;
  catalogue: CatalogueTable;
  settings: SettingsTable;
  skill_executions: ExecutionsTable;
  instances: InstancesTable;
}

export type SkillRow = SkillsTable;
/** A row of `skills` without its content: what the catalogue loads. */
export type SkillHeadRow = Omit<SkillsTable, "content">;
export type ExecutionRow = ExecutionsTable;
export type InstanceRow = InstancesTable;
