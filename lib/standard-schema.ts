import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { type Fault, SkillError } from "./errors.js";
import type { InputParser } from "./executor/handlers.js";
import { toPointer } from "./executor/json.js";
import type { SchemaObject } from "./types.js";

/** A schema of zod 4, arktype and others that can check values and say what it is as JSON Schema (standardschema.dev). */
export type StandardSchema<Input = unknown, Output = Input> = StandardSchemaV1<Input, Output> &
  StandardJSONSchemaV1<Input, Output>;

export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  return ((typeof schema === "object" && schema !== null) || typeof schema === "function") && "~standard" in schema;
}

/**
 * The JSON Schema of what the schema takes (`input`) or gives (`output`).
 * @throws INVALID_DEFINITION when the schema cannot say it
 */
export function toJsonSchema(schema: StandardSchemaV1, side: "input" | "output", pointer: string): SchemaObject {
  const standard = schema["~standard"] as StandardSchema["~standard"];
  if (typeof standard.jsonSchema?.[side] !== "function") {
    throw invalid(
      pointer,
      `is a Standard Schema of ${standard.vendor} without a JSON Schema side: use a newer version, or its converter`,
    );
  }
  try {
    return standard.jsonSchema[side]({ target: "draft-2020-12" });
  } catch (cause) {
    throw invalid(pointer, `cannot be written as JSON Schema: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

/** Checks an input by the schema's own `validate`; the handler gets what it gives back. */
export function toInputParser(schema: StandardSchemaV1): InputParser {
  return async (input) => {
    const result = await schema["~standard"].validate(input);
    return result.issues === undefined ? { value: result.value } : { faults: result.issues.map(toFault) };
  };
}

function toFault({ path = [], message }: StandardSchemaV1.Issue): Fault {
  const keys = path.map((part) => (typeof part === "object" ? part.key : part));
  return { pointer: toPointer(keys.map((key) => (typeof key === "symbol" ? String(key) : key))), message };
}

function invalid(pointer: string, message: string, cause?: unknown): SkillError {
  return new SkillError("INVALID_DEFINITION", `The skill definition at ${pointer} ${message}.`, {
    cause,
    faults: [{ pointer, message }],
  });
}
