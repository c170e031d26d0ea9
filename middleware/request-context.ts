import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type AbortSignalLike,
  type CallOptions,
  checkKeys,
  type SandboxRunner,
  SkillError,
  type SkillExecution,
  type SkillExecutor,
  type SkillHandle,
  type SkillRegistry,
  type SkillsKit,
} from "../lib/index.js";
import { anybody, type Identify, type Identity, identifyCaller } from "./identity.js";
import { requestIdOf } from "./request-id.js";
import type { RequestCallOptions, RequestEnqueueOptions, RequestSkills, SkillResults } from "./request-skills.js";
import { ResponseSignal } from "./response-signal.js";
import { StepResults } from "./step-results.js";
import type { SkillsRequest } from "./types.js";

const ENQUEUE_OPTIONS = Object.keys({
  runAt: true,
  priority: true,
  jobKey: true,
  timeoutMs: true,
  idempotencyKey: true,
} satisfies Record<keyof RequestEnqueueOptions, true>);
const CALL_OPTIONS = ["timeoutMs", "signal", "idempotencyKey"] satisfies (keyof RequestCallOptions)[];

/**
 * The context that `skills()` attached to a request.
 * @throws KIT_MISSING
 */
export function requestContext(request: IncomingMessage): RequestContext {
  const context = attachedContext(request);
  if (context !== undefined) return context;
  throw new SkillError("KIT_MISSING", "No kit is mounted before this step: call app.use(skills()) before the route is declared.");
}

/** The context that `skills()` attached to a request, or `undefined`. */
export function attachedContext(request: IncomingMessage): RequestContext | undefined {
  const { skills } = request as { skills?: unknown };
  return skills instanceof RequestContext ? skills : undefined;
}

/** What `req.skills` is. Everything that costs something is made when it is first asked for. */
export class RequestContext implements RequestSkills {
  /** What the steps have left. */
  readonly steps = new StepResults();
  readonly #kit: SkillsKit;
  readonly #identify: Identify | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #identity: Promise<Identity> | undefined;
  #caller: Identity | undefined;
  #requestId: string | undefined;
  #connection: ResponseSignal | undefined;

  constructor(kit: SkillsKit, identify: Identify | undefined, request: IncomingMessage, response: ServerResponse) {
    this.#kit = kit;
    this.#identify = identify;
    this.#caller = identify === undefined ? anybody : undefined;
    this.#request = request;
    this.#response = response;
  }

  get kit(): SkillsKit {
    return this.#kit;
  }

  get registry(): SkillRegistry {
    return this.#kit.registry;
  }

  get executor(): SkillExecutor {
    return this.#kit.executor;
  }

  get sandbox(): SandboxRunner {
    return this.#kit.sandbox;
  }

  get logger(): SkillsKit["logger"] {
    return this.#kit.logger;
  }

  get results(): SkillResults & Record<string, unknown> {
    return this.steps.results as SkillResults & Record<string, unknown>;
  }

  get errors(): Record<string, SkillError> {
    return this.steps.errors;
  }

  get apiKeyId(): string | undefined {
    return this.#caller?.apiKeyId;
  }

  get sessionId(): string | null | undefined {
    return this.#caller === undefined ? undefined : (this.#caller.sessionId ?? null);
  }

  get requestId(): string {
    this.#requestId ??= requestIdOf(this.#request);
    return this.#requestId;
  }

  get signal(): AbortSignal {
    return this.connection.toAbortSignal();
  }

  /** Whether the client has left: what `signal` says, at less cost. */
  get connection(): ResponseSignal {
    this.#connection ??= new ResponseSignal(this.#response);
    return this.#connection;
  }

  /** Who calls, once that is known. */
  get caller(): Identity | undefined {
    return this.#caller;
  }

  belongsTo(kit: SkillsKit, identify: Identify | undefined): boolean {
    return this.#kit === kit && this.#identify === identify;
  }

  identity(): Promise<Identity> {
    this.#identity ??= this.#findIdentity();
    return this.#identity;
  }

  run<Input, Output>(handle: SkillHandle<Input, Output>, input: NoInfer<Input>, options?: RequestCallOptions): Promise<Output>;
  run<Output = unknown>(reference: string, input: unknown, options?: RequestCallOptions): Promise<Output>;
  async run<Output>(
    reference: string | SkillHandle<unknown, Output>,
    input: unknown,
    options: RequestCallOptions = {},
  ): Promise<Output> {
    checkKeys("options of req.skills.run()", options, CALL_OPTIONS);
    const call = this.callOptions(await this.identity(), this.#either(options.signal), options);
    // The executor takes handles as it takes text; only its overloads take no union.
    return await this.executor.run<Output>(reference as string, input, call);
  }

  execute<Input, Output>(
    handle: SkillHandle<Input, Output>,
    input: NoInfer<Input>,
    options?: RequestCallOptions,
  ): Promise<SkillExecution<Output>>;
  execute<Output = Record<string, unknown>>(
    reference: string,
    input: unknown,
    options?: RequestCallOptions,
  ): Promise<SkillExecution<Output>>;
  async execute<Output>(
    reference: string | SkillHandle<unknown, Output>,
    input: unknown,
    options: RequestCallOptions = {},
  ): Promise<SkillExecution<Output>> {
    checkKeys("options of req.skills.execute()", options, CALL_OPTIONS);
    const call = this.callOptions(await this.identity(), this.#either(options.signal), options);
    return await this.executor.execute<Output>(reference as string, input, call);
  }

  enqueue<Input, Output>(
    handle: SkillHandle<Input, Output>,
    input: NoInfer<Input>,
    options?: RequestEnqueueOptions,
  ): Promise<SkillExecution<Output>>;
  enqueue<Output = Record<string, unknown>>(
    reference: string,
    input: unknown,
    options?: RequestEnqueueOptions,
  ): Promise<SkillExecution<Output>>;
  async enqueue<Output>(
    reference: string | SkillHandle<unknown, Output>,
    input: unknown,
    options: RequestEnqueueOptions = {},
  ): Promise<SkillExecution<Output>> {
    checkKeys("options of req.skills.enqueue()", options, ENQUEUE_OPTIONS);
    const { timeoutMs, idempotencyKey, ...schedule } = options;
    const { apiKeyId, sessionId } = await this.identity();
    const call = { apiKeyId, sessionId, requestId: this.requestId, timeoutMs, idempotencyKey };
    return await this.executor.enqueue<Output>(reference as string, input, call, schedule);
  }

  result<Output>(handle: SkillHandle<unknown, Output>): Output {
    const { reference }: { reference?: unknown } = handle ?? {};
    return this.steps.ofReference(reference) as Output;
  }

  /** What a call of this request is made with: the caller, and `signal` in place of the request's own. */
  callOptions({ apiKeyId, sessionId }: Identity, signal: AbortSignalLike, options: RequestCallOptions): CallOptions {
    const { timeoutMs, idempotencyKey } = options;
    return { apiKeyId, sessionId, requestId: this.requestId, signal, timeoutMs, idempotencyKey };
  }

  async #findIdentity(): Promise<Identity> {
    this.#caller ??= await identifyCaller(this.#identify as Identify, this.#request as SkillsRequest);
    return this.#caller;
  }

  #either(signal: AbortSignalLike | undefined): AbortSignalLike {
    if (signal === undefined) return this.connection;
    if (!(signal instanceof AbortSignal)) throw new SkillError("INVALID_OPTION", "The option signal must be an AbortSignal.");
    return AbortSignal.any([this.signal, signal]);
  }
}
