import { actingOwner } from "../owner.js";
import { headers, parameters } from "../parameters.js";
import { parsePrefer } from "../prefer.js";
import { invalidParameter } from "../problems.js";
import { defineRoute } from "../route.js";
import { replyToQueued, replyToStarted } from "../started.js";

export const runSkill = defineRoute<{ readonly owner?: string }, unknown>({
  method: "POST",
  path: "skills/{reference}/executions",
  role: "caller",
  id: "runSkill",
  summary: "Run a skill",
  description:
    "The body is the input, `{}` when it is empty. The reference is `name`, `name@1.2.3`, `name@^1.2` or `name@latest`, encoded as one segment of the path (`%40scope%2Fname`). A skill that fails is an execution with another status than `SUCCESS`; a call that is refused is a problem.",
  query: { owner: parameters.actingOwner },
  headers: { "Idempotency-Key": headers.idempotencyKey, Prefer: headers.prefer },
  body: { component: "Json", isChecked: false },
  responses: {
    200: {
      description: "The stored answer of an earlier call with this key.",
      body: "Execution",
      headers: ["Location", "Preference-Applied"],
    },
    201: { description: "It has ended.", body: "Execution", headers: ["Location", "Preference-Applied"] },
    202: {
      description: "It goes on, or waits to be run.",
      body: "Execution",
      headers: ["Location", "Preference-Applied", "Retry-After"],
    },
  },
  async handle(request) {
    const { kit, caller, params, query, body = {}, requestId } = request;
    const apiKeyId = actingOwner(caller, query.owner);
    const preference = parsePrefer(request.header("prefer"));
    const idempotencyKey = parseKey(request.header("idempotency-key"));
    const reference = params["reference"] ?? "";
    const { sessionId } = caller;
    if (preference?.isAsync === true && (await kit.executor.canEnqueue())) {
      const queued = await kit.executor.enqueue<unknown>(reference, body, { apiKeyId, sessionId, requestId, idempotencyKey });
      return replyToQueued(request, queued, preference);
    }
    // Who can ask for the answer later may leave.
    const signal = preference === undefined && idempotencyKey === undefined ? request.signal : undefined;
    const call = { apiKeyId, sessionId, requestId, idempotencyKey, signal };
    return replyToStarted(request, await kit.executor.start(reference, body, call), preference);
  },
});

function parseKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (header.length >= 1 && header.length <= 255 && !/[\u0000-\u001f\u007f]/.test(header)) return header;
  throw invalidParameter("Idempotency-Key", "must have 1 to 255 characters without control characters");
}
