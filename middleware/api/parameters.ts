/** The schemas of parameters that several routes have. */
export const parameters = {
  owner: {
    type: "string",
    minLength: 1,
    maxLength: 200,
    description: "The owner (API key) that is meant. Operators and admins may name any owner, others themselves only.",
  },
  skillOwner: {
    type: "string",
    minLength: 1,
    maxLength: 200,
    description:
      "The owner (API key) that is meant. Operators and admins may name any owner, others themselves and `system` only.",
  },
  actingOwner: {
    type: "string",
    minLength: 1,
    maxLength: 200,
    description: "The owner (API key) as which this is done. Admins may name any owner, others themselves only.",
  },
  name: { type: "string", minLength: 1, maxLength: 100, description: "The exact name of a skill." },
  force: {
    type: "string",
    enum: ["true", "false"],
    description: "Remove it although queued work names it, which then ends as DENIED.",
  },
  version: { type: "string", minLength: 1, maxLength: 128, description: "An exact version." },
  limit: { type: "integer", minimum: 1, maximum: 200, description: "How many at most. Default 50." },
  cursor: { type: "string", minLength: 1, maxLength: 1_024, description: "`nextCursor` of the page before." },
  from: { type: "string", format: "date-time", description: "Not before this time." },
  to: { type: "string", format: "date-time", description: "Before this time." },
} as const;

export const DEFAULT_LIMIT = 50;

export const headers = {
  prefer: {
    type: "string",
    description:
      "`wait=N` (RFC 7240) waits for at most N seconds; when that is not enough the answer is 202 with the execution's address, and the call goes on, also when the client leaves. `respond-async` enqueues the work, for any process with a worker, and answers 202 at once. Without it a call ends when its client leaves.",
  },
  idempotencyKey: {
    type: "string",
    minLength: 1,
    maxLength: 255,
    description:
      "Another call with the same key, skill and input gets the stored answer of the first (status 200) instead of running again; another skill or input under the same key is refused. A call with a key goes on when its client leaves.",
  },
  lastEventId: {
    type: "string",
    description: "The id of the last event that was received: what followed is sent, or the state again.",
  },
} as const;
