import { coerceStrings, isSkillError, type Skill } from "../lib/index.js";
import { parsedBody } from "./body.js";
import type { RequestContext } from "./request-context.js";
import type { ParsedStep, StepInputSource } from "./step-options.js";
import type { SkillsRequest } from "./types.js";

type InputStep = Pick<ParsedStep, "reference" | "input">;

/**
 * The input of a step's call, or a promise of it.
 * @throws BODY_PARSER_MISSING, UNSUPPORTED_MEDIA_TYPE, what the step's `input` function throws
 */
export function stepInput(step: InputStep, context: RequestContext, request: SkillsRequest): unknown {
  if (step.input !== undefined) return step.input(inputSource(context, request));
  if (request.method !== "GET" && request.method !== "HEAD" && request.method !== "DELETE") return parsedBody(request);
  return coercedInput(step, context, request);
}

async function coercedInput(step: InputStep, context: RequestContext, request: SkillsRequest): Promise<unknown> {
  const values = { ...asRecord(request.query), ...asRecord(request.params) };
  const skill = await findSkill(step, context);
  return skill === undefined ? values : coerceStrings(skill.schema, values);
}

/** What functions of a step get. */
export function inputSource(context: RequestContext, request: SkillsRequest): StepInputSource {
  return {
    req: request,
    // Read only by functions that want a body: a request whose body nobody parsed is no fault for the others.
    get body() {
      return parsedBody(request) as Readonly<Record<string, unknown>>;
    },
    query: asRecord(request.query),
    params: asRecord(request.params) as Readonly<Record<string, string | string[]>>,
    // A copy: as part of an input, the object itself would come to contain the output that is made of it.
    get results() {
      return Object.assign(Object.create(null) as typeof context.results, context.results);
    },
  };
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The skill whose schema says the types. None on a refusal: the call is refused in the same way, and that is audited. */
async function findSkill(step: InputStep, context: RequestContext): Promise<Skill | undefined> {
  try {
    return await context.registry.getSkill(step.reference, context.apiKeyId);
  } catch (error) {
    if (isSkillError(error)) return undefined;
    throw error;
  }
}
