const text = { type: "string" };
const time = { type: "string", format: "date-time" };
const delayMs = { type: "integer", minimum: 0, maximum: 2_147_483_647 };
const schema = { type: "object", description: "A JSON Schema, draft 2020-12, or draft-07 when `$schema` says so." };
const mode = {
  type: "string",
  enum: ["on", "off", "auto"],
  description: "`off` never runs; `auto` is offered to a language model only when it is relevant.",
};
const tags = { type: "array", items: { type: "string", minLength: 1, maxLength: 64 }, maxItems: 32 };
const description = { type: "string", maxLength: 1_024 };

const headProperties = {
  id: text,
  apiKeyId: { ...text, description: "The owner; everyone sees the skills of `system`." },
  name: text,
  version: text,
  description,
  enabled: { type: "boolean" },
  mode,
  tags,
  sourceProvider: { type: ["string", "null"] },
  contentHash: { ...text, description: "Of everything that is immutable per version." },
  createdAt: time,
  updatedAt: time,
};

/** How a version runs: part of its content. */
const policyProperties = {
  timeoutMs: { ...delayMs, minimum: 1, description: "Time limit of one call with all its attempts." },
  retry: {
    type: "object",
    properties: {
      limit: { type: "integer", minimum: 0, maximum: 100, description: "Attempts after the first one." },
      backoffMs: delayMs,
      factor: { type: "number", minimum: 1, maximum: 100 },
      maxBackoffMs: delayMs,
      jitter: { type: "boolean" },
    },
    required: ["limit"],
    additionalProperties: false,
  },
  concurrency: {
    type: "object",
    properties: {
      limit: { type: "integer", minimum: 1, maximum: 10_000 },
      queue: { type: "integer", minimum: 0, maximum: 100_000 },
    },
    required: ["limit"],
    additionalProperties: false,
  },
  breaker: {
    type: "object",
    properties: { failures: { type: "integer", minimum: 1, maximum: 1_000 }, halfOpenAfterMs: { ...delayMs, minimum: 1 } },
    required: ["failures"],
    additionalProperties: false,
  },
  idempotent: { type: "boolean", description: "Whether running it twice does no harm." },
};

const handler = { description: "The name under which the server's code registered the function." };
const container = { description: "An image and a command. Only images that the operator allows." };
const head = { type: "object", properties: headProperties, required: Object.keys(headProperties), additionalProperties: false };

/** What skills look like. */
export const skillSchemas = {
  SkillHead: head,
  SkillPage: {
    type: "object",
    properties: {
      items: { type: "array", items: { $ref: "#/components/schemas/SkillHead" } },
      nextCursor: { type: ["string", "null"], description: "For the next page; `null` on the last." },
    },
    required: ["items", "nextCursor"],
    additionalProperties: false,
  },
  SkillVersions: {
    type: "object",
    properties: { items: { type: "array", items: { $ref: "#/components/schemas/SkillHead" } } },
    required: ["items"],
    additionalProperties: false,
  },
  Skill: {
    type: "object",
    properties: {
      ...headProperties,
      schema,
      outputSchema: { ...schema, type: ["object", "null"] },
      handler: { ...handler, type: ["string", "null"] },
      container: { ...container, type: ["object", "null"] },
      patterns: { type: "string", enum: ["linear", "native"], description: "The engine of the schemas' patterns." },
      ...policyProperties,
    },
    required: [...head.required, "schema", "outputSchema", "patterns"],
    additionalProperties: false,
  },
  SkillRegistration: {
    type: "object",
    properties: {
      name: {
        type: "string",
        maxLength: 100,
        description: "An optional `@scope/`, then a letter, then letters, digits, `_ . -`.",
      },
      version: { type: "string", maxLength: 128, description: "Exact semantic version. Default `1.0.0`." },
      description,
      schema,
      outputSchema: schema,
      handler: { ...handler, type: "string" },
      container: { ...container, type: "object" },
      apiKeyId: { type: "string", minLength: 1, maxLength: 200, description: "The owner." },
      enabled: { type: "boolean" },
      mode,
      tags,
      sourceProvider: { type: "string", minLength: 1, maxLength: 100 },
      ...policyProperties,
      replace: { type: "boolean", description: "Overwrite a version that exists with other content. Default false." },
    },
    required: ["name", "schema"],
    additionalProperties: false,
  },
  SkillChange: {
    type: "object",
    properties: { enabled: { type: "boolean" }, mode, description, tags },
    additionalProperties: false,
    minProperties: 1,
  },
} as const;
