/**
 * The one error class of this package, the closed union of its codes, and the table that gives each code its HTTP
 * status, whether its text may be shown to a client, and whether the same call can succeed later.
 *
 * @since 0.1.0
 */

interface ErrorFacts {
  /** HTTP status (RFC 9110). */
  readonly status: number;
  /** Whether the message may be shown to a client. */
  readonly expose: boolean;
  /** Whether the same call can succeed when it is made again later. */
  readonly retryable: boolean;
  /** Short text that is the same for every occurrence: the `title` of RFC 9457 problem details. */
  readonly title: string;
}

const facts = (status: number, title: string, expose = status < 500, retryable = false): ErrorFacts =>
  Object.freeze({ status, title, expose, retryable });

export const errorTable = {
  // What a caller asked for.
  INVALID_REFERENCE: facts(400, "The skill reference is malformed"),
  INVALID_INPUT: facts(422, "The input does not match the skill's schema"),
  SKILL_NOT_FOUND: facts(404, "No such skill"),
  SKILL_DISABLED: facts(409, "The skill is disabled"),
  SKILL_OFF: facts(409, "The skill is switched off"),
  SKILLS_DISABLED: facts(503, "Skills are switched off", true, true),
  SKILL_BUSY: facts(503, "The skill is at its concurrency limit", true, true),
  CIRCUIT_OPEN: facts(503, "The skill failed repeatedly and is paused", true, true),
  SHUTTING_DOWN: facts(503, "The server is shutting down", true, true),
  DEPTH_EXCEEDED: facts(508, "Skills call each other too deeply"),
  EXECUTION_NOT_FOUND: facts(404, "No such execution"),
  EXECUTION_NOT_RUNNING: facts(409, "The execution is not running"),
  INPUT_NOT_STORED: facts(409, "The stored input is not complete"),
  ANSWER_NOT_STORED: facts(409, "The stored answer is not complete"),
  IDEMPOTENCY_MISMATCH: facts(422, "The idempotency key was used with another request"),
  IDEMPOTENCY_IN_PROGRESS: facts(409, "A call with this idempotency key is running", true, true),

  // What happened to the work.
  SKILL_FAILED: facts(500, "The skill failed"),
  SKILL_TIMEOUT: facts(504, "The skill did not finish in time", false, true),
  SKILL_CANCELLED: facts(499, "The call was cancelled"),
  SKILL_INTERRUPTED: facts(500, "The server stopped while the skill was running", false, true),
  INVALID_OUTPUT: facts(500, "The skill's output is not valid"),
  HANDLER_NOT_FOUND: facts(501, "The skill's handler is not registered"),

  // What a registrant or operator did.
  INVALID_DEFINITION: facts(422, "The skill definition is not valid"),
  SKILL_CONFLICT: facts(409, "This version exists with other content"),
  SKILL_IN_USE: facts(409, "Queued work needs this version"),
  INVALID_OPTION: facts(500, "An option is not valid"),
  STORED_SKILL_INVALID: facts(500, "The stored skill is damaged"),

  // What the server lacks.
  AUDIT_UNAVAILABLE: facts(503, "The audit cannot be written", true, true),
  STORE_UNAVAILABLE: facts(503, "The database cannot be reached", false, true),
  STORE_INVALID: facts(500, "The database cannot be used"),
  STORE_DRIVER_UNAVAILABLE: facts(500, "No database driver is installed"),

  // What happened to a container.
  SANDBOX_UNAVAILABLE: facts(503, "No container engine answers", false, true),
  SANDBOX_BUSY: facts(503, "Too many containers are running", true, true),
  INVALID_IMAGE: facts(422, "The image reference is malformed"),
  INVALID_COMMAND: facts(422, "The container's command is not valid"),
  INVALID_ENV: facts(422, "The container's environment is not valid"),
  ENV_TOO_LARGE: facts(422, "The container's environment or command is too large"),
  IMAGE_NOT_ALLOWED: facts(403, "The image is not allowed"),
  IMAGE_NOT_FOUND: facts(500, "The image does not exist"),
  IMAGE_PULL_TIMEOUT: facts(504, "The image was not pulled in time", false, true),
  START_FAILED: facts(500, "The container did not start", false, true),
  COMMAND_NOT_FOUND: facts(500, "The image has no such command"),

  // What Express did or did not do before a step.
  BODY_PARSER_MISSING: facts(500, "No body parser ran: mount express.json() before the skill", true),
  UNSUPPORTED_MEDIA_TYPE: facts(415, "The content type of the body is not supported"),
  UNAUTHENTICATED: facts(401, "The caller is not identified"),
  FORBIDDEN: facts(403, "The caller may not do this"),

  // What the REST API refuses.
  INVALID_REQUEST: facts(400, "The request is not valid"),
  METHOD_NOT_ALLOWED: facts(405, "The method is not allowed here"),
  BODY_TOO_LARGE: facts(413, "The body is too large"),
  STREAM_LIMIT: facts(503, "Too many event streams are open", true, true),

  // How the middleware was put together.
  KIT_MISSING: facts(500, "No kit is mounted: call app.use(skills()) before the step", true),
  RESULT_MISSING: facts(500, "No step produced the result that the route responds with", true),
} as const satisfies Record<string, ErrorFacts>;

/** Every code an error of this package can have. */
export type SkillErrorCode = keyof typeof errorTable;

/** One fault of a value that was checked. `pointer` is a JSON pointer (RFC 6901) into that value; `""` is the whole. */
export interface Fault {
  readonly pointer: string;
  readonly message: string;
}

export interface SkillErrorOptions {
  /** What made it happen; never shown to a client. */
  readonly cause?: unknown;
  /** Every fault of the value that was refused. */
  readonly faults?: readonly Fault[];
  /** When a retry can help, in milliseconds; also sent as `Retry-After`. */
  readonly retryAfterMs?: number;
  /** Overrides the table's status: for a handler's own 4xx. */
  readonly status?: number;
  /** Overrides the table's `expose`. */
  readonly expose?: boolean;
  /** The execution the error belongs to. */
  readonly executionId?: string;
}

/**
 * Every error that this package throws. It carries `status`, `statusCode`, `expose` and `headers` as http-errors does, so that any
 * Express error handler renders it rightly.
 */
export class SkillError extends Error {
  override readonly name = "SkillError";
  readonly code: SkillErrorCode;
  readonly status: number;
  readonly statusCode: number;
  readonly expose: boolean;
  readonly retryable: boolean;
  readonly faults: readonly Fault[];
  readonly retryAfterMs: number | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  executionId: string | undefined;

  constructor(code: SkillErrorCode, message: string, options: SkillErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const known = errorTable[code];
    this.code = code;
    this.status = options.status ?? known.status;
    this.statusCode = this.status;
    this.expose = options.expose ?? known.expose;
    this.retryable = known.retryable;
    this.faults = options.faults ?? [];
    this.retryAfterMs = options.retryAfterMs;
    this.headers =
      options.retryAfterMs === undefined
        ? undefined
        : { "Retry-After": String(Math.max(1, Math.ceil(options.retryAfterMs / 1000))) };
    this.executionId = options.executionId;
  }
}

export function isSkillError(value: unknown): value is SkillError {
  return value instanceof SkillError;
}

export function isSkillErrorCode(value: unknown): value is SkillErrorCode {
  return typeof value === "string" && Object.hasOwn(errorTable, value);
}
