import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FromSchema, JSONSchema } from "json-schema-to-ts";
import { SkillError } from "./errors.js";
import type { RegisteredHandler } from "./executor/handlers.js";
import { isStandardSchema, type StandardSchema, toInputParser, toJsonSchema } from "./standard-schema.js";
import {
  type ContainerSpec,
  type Handler,
  type HandlerContext,
  type MaybePromise,
  type SkillDefinition,
  type SkillHandle,
  SYSTEM_OWNER,
} from "./types.js";

/** Constraining by `JSONSchema` itself is too deep for the compiler (TS2589); `~standard` keeps Standard Schemas out. */
export type PlainJsonSchema = { readonly [keyword: string]: unknown } & { readonly "~standard"?: never };

/** The type that a JSON Schema describes; any object when the compiler cannot tell. */
export type FromJsonSchema<Schema> = Schema extends JSONSchema ? FromSchema<Schema> : Record<string, unknown>;

/** What `define()` takes besides schema and handler or container: see `SkillDefinition`. */
export type DefineOptions = Omit<SkillDefinition, "schema" | "outputSchema" | "handler" | "container">;

/**
 * Declares a skill with the function or the container that does its work, and returns a typed handle. An app calls it at every start: the
 * same content again changes nothing. Definitions without an owner belong to `system`.
 *
 * `schema` is a JSON Schema, written in place or `as const`, or a Standard Schema with a JSON Schema side (zod 4, arktype): its own
 * `validate` checks the input, and the handler gets what it gives back.
 *
 * It answers at once; what is wrong with a definition is thrown by `ready()`: INVALID_DEFINITION, or SKILL_CONFLICT when the version is
 * registered with other content. Outside `NODE_ENV=production` other content replaces what is registered, with a warning.
 * @since 0.1.0
 */
export interface DefineSkill {
  <Input, Parsed, Output>(
    definition: DefineOptions & {
      readonly schema: StandardSchema<Input, Parsed>;
      readonly outputSchema?: PlainJsonSchema | StandardSchema | undefined;
      readonly handler: (input: Parsed, context: HandlerContext) => MaybePromise<Output>;
    },
  ): SkillHandle<Input, Output>;
  <const Schema extends PlainJsonSchema, Output>(
    definition: DefineOptions & {
      readonly schema: Schema;
      readonly outputSchema?: PlainJsonSchema | StandardSchema | undefined;
      readonly handler: (input: FromJsonSchema<Schema>, context: HandlerContext) => MaybePromise<Output>;
    },
  ): SkillHandle<FromJsonSchema<Schema>, Output>;
  <const Schema extends PlainJsonSchema, const OutputSchema extends PlainJsonSchema = PlainJsonSchema>(
    definition: DefineOptions & {
      readonly schema: Schema;
      readonly outputSchema?: OutputSchema | undefined;
      readonly container: ContainerSpec;
    },
  ): SkillHandle<FromJsonSchema<Schema>, [PlainJsonSchema] extends [OutputSchema] ? unknown : FromJsonSchema<OutputSchema>>;
}

/** A definition as `define()` got it, ready to be registered. */
export interface PreparedDefinition {
  readonly handle: SkillHandle<unknown, unknown>;
  readonly handlerName: string;
  /** `undefined` when a container does the work. */
  readonly handler: RegisteredHandler | undefined;
  /** @throws INVALID_DEFINITION */
  toDefinition(): SkillDefinition;
}

interface LooseDefinition extends DefineOptions {
  readonly schema: unknown;
  readonly outputSchema?: unknown;
  readonly handler?: Handler<never, unknown> | undefined;
  readonly container?: ContainerSpec | undefined;
}

/** @throws INVALID_DEFINITION for what has no name or no function, and so no handle */
export function prepareDefinition(definition: LooseDefinition): PreparedDefinition {
  const { name, version = "1.0.0", apiKeyId = SYSTEM_OWNER, schema, outputSchema, handler, container } = definition ?? {};
  if (typeof name !== "string")
    throw new SkillError("INVALID_DEFINITION", "define() takes an object with a name, a schema and a handler or container.");
  if (typeof handler !== "function" && (handler !== undefined || container === undefined))
    throw new SkillError(
      "INVALID_DEFINITION",
      `define(): the handler of ${JSON.stringify(name.slice(0, 100))} must be a function.`,
    );
  const reference = `${name}@${version}`;
  const handlerName = `${apiKeyId === SYSTEM_OWNER ? "" : `${apiKeyId}:`}${reference}`;
  return {
    handle: Object.freeze({ name, version, reference }),
    handlerName,
    handler: handler && {
      run: handler,
      onlyFor: { apiKeyId, name, version },
      ...(isStandardSchema(schema) && { parseInput: toInputParser(schema) }),
    },
    toDefinition: () => ({
      ...definition,
      version,
      apiKeyId,
      handler: handler && handlerName,
      schema: plainSchema(schema, "input", "/schema"),
      outputSchema: outputSchema === undefined ? undefined : plainSchema(outputSchema, "output", "/outputSchema"),
    }),
  };
}

function plainSchema(schema: unknown, side: "input" | "output", pointer: string): SkillDefinition["schema"] {
  return isStandardSchema(schema)
    ? toJsonSchema(schema as StandardSchemaV1, side, pointer)
    : (schema as SkillDefinition["schema"]);
}
