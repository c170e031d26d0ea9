import { EXECUTION_STATUSES } from "../../../lib/index.js";

const text = { type: "string" };
const textOrNull = { type: ["string", "null"] };
const time = { type: "string", format: "date-time" };

const summaryProperties = {
  id: { type: "string", format: "uuid", description: "UUIDv7 (RFC 9562): sorts by time." },
  skillId: { ...textOrNull, description: "`null` when the call was refused before a skill was found." },
  skillName: text,
  skillVersion: { ...text, description: "The version that ran; what the caller wrote when none was found." },
  apiKeyId: { ...text, description: "The owner." },
  sessionId: textOrNull,
  requestId: textOrNull,
  parentId: { ...textOrNull, description: "The execution whose handler made this call." },
  rootId: { ...text, description: "The first execution of the tree." },
  status: { type: "string", enum: EXECUTION_STATUSES },
  errorCode: textOrNull,
  errorMessage: { ...textOrNull, description: "For callers, internal errors have the text that every occurrence has." },
  attempts: { type: "integer", minimum: 0, description: "How often the handler was started." },
  durationMs: {
    type: ["number", "null"],
    minimum: 0,
    description: "With all attempts; `null` while it runs or when it never ran.",
  },
  createdAt: time,
  finishedAt: { type: ["string", "null"], format: "date-time" },
  sandbox: {
    type: "object",
    description: "For operators: facts of the container, when the skill ran in one.",
    properties: {
      runtime: { ...text, description: "The engine: `docker` or `podman`." },
      image: text,
      exitCode: { type: ["integer", "null"], description: "`null` when the program was ended, or answered before its end." },
      oomKilled: { type: "boolean", description: "Whether the kernel ended a process of it for memory." },
      servedFrom: { type: "string", enum: ["warm", "cold"], description: "`warm`: from a container that was started ahead." },
      startupMs: { type: ["number", "null"], minimum: 0, description: "`null` when the program never started." },
    },
    required: ["runtime", "image", "exitCode", "oomKilled", "servedFrom", "startupMs"],
    additionalProperties: false,
  },
};

const { sandbox: _optional, ...required } = summaryProperties;
const data = {
  input: { description: "Any JSON. In stored executions redacted, and cut when it is large; `null` for a refused call." },
  output: { description: "Any JSON; `null` without success." },
};

const summary = { type: "object", properties: summaryProperties, required: Object.keys(required), additionalProperties: false };
const log = { ...text, description: "For operators: the last of what the container wrote to its standard error." };
const whole = {
  type: "object",
  properties: { ...summaryProperties, ...data, log },
  required: [...Object.keys(required), ...Object.keys(data)],
  additionalProperties: false,
};
const children = { type: "array", items: { $ref: "#/components/schemas/ExecutionNode" } };

/** What executions look like. */
export const executionSchemas = {
  Execution: whole,
  ExecutionSummary: summary,
  ExecutionPage: {
    type: "object",
    properties: {
      items: { type: "array", items: { $ref: "#/components/schemas/ExecutionSummary" } },
      nextCursor: { type: ["string", "null"], description: "For the next page; `null` on the last." },
    },
    required: ["items", "nextCursor"],
    additionalProperties: false,
  },
  ExecutionNode: {
    ...summary,
    properties: { ...summaryProperties, children },
    required: [...summary.required, "children"],
  },
  ExecutionTree: {
    type: "object",
    properties: {
      root: { ...whole, properties: { ...whole.properties, children }, required: [...whole.required, "children"] },
      isCut: { type: "boolean", description: "Whether the tree has more calls than were read." },
    },
    required: ["root", "isCut"],
    additionalProperties: false,
  },
} as const;
