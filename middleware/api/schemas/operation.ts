import { EXECUTION_STATUSES } from "../../../lib/index.js";

const time = { type: "string", format: "date-time" };
const count = { type: "integer", minimum: 0 };
const milliseconds = { type: ["number", "null"], minimum: 0 };
const percentiles = { p50Ms: milliseconds, p95Ms: milliseconds, p99Ms: milliseconds };
const counts = {
  type: "object",
  properties: Object.fromEntries(EXECUTION_STATUSES.map((status) => [status, count])),
  additionalProperties: false,
  description: "How many by status; a status that none has is left out.",
};

function closed(properties: Readonly<Record<string, object>>) {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

/** What operating the server looks like. */
export const operationSchemas = {
  Settings: closed({ skillsEnabled: { type: "boolean", description: "The master switch: when false, every call is refused." } }),
  Health: closed({ status: { type: "string", const: "ok" } }),
  Engines: closed({
    sandbox: { type: ["object", "null"], description: "The engine and the limits that a container found in force." },
    stats: { type: ["object", "null"], description: "Containers that run, wait and are kept ready." },
    problem: { ...closed({ code: { type: "string" }, detail: { type: "string" } }), type: ["object", "null"] },
  }),
  Stats: closed({
    from: time,
    to: time,
    bucket: { type: "string", enum: ["minute", "hour", "day"] },
    count,
    isCut: { type: "boolean", description: "Whether there may be more executions in this time than were counted." },
    byStatus: counts,
    perMinute: { type: "number", minimum: 0 },
    buckets: {
      type: "array",
      items: closed({ at: { ...time, description: "The start of the bucket." }, counts, ...percentiles }),
    },
    skills: {
      type: "array",
      items: closed({ name: { type: "string" }, version: { type: "string" }, count, failed: count, ...percentiles }),
      description: "At most 100, the most often used first.",
    },
  }),
  Problem: {
    type: "object",
    description: "Problem details (RFC 9457).",
    properties: {
      type: { type: "string", format: "uri-reference" },
      title: { type: "string" },
      status: { type: "integer", minimum: 400, maximum: 599 },
      detail: { type: "string" },
      code: { type: "string" },
      instance: { type: "string" },
      requestId: { type: "string" },
      executionId: { type: "string" },
      faults: {
        type: "array",
        items: closed({ pointer: { type: "string", description: "JSON pointer (RFC 6901)." }, message: { type: "string" } }),
      },
    },
    required: ["type", "title", "status", "detail", "requestId"],
    additionalProperties: false,
  },
  Json: { description: "Any JSON." },
  OpenApi: { type: "object" },
} as const;
