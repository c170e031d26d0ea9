import type { Ajv, ErrorObject, ValidateFunction } from "ajv";
import type { Fault } from "../../errors.js";
import { pointerToken } from "../json.js";
import { type StepBudget, StepsExceeded } from "./linear-pattern.js";

/** Checks a value; no faults mean that it is valid. It neither changes nor keeps the value. */
export type Validate = (value: unknown) => readonly Fault[];

const NO_FAULTS: readonly Fault[] = Object.freeze([]);
const MAX_FAULTS = 10;
const MAX_MESSAGE_CHARS = 300;
const MAX_POINTER_CHARS = 300;

/** Wraps a compiled schema so that nothing that a value can do makes it throw. */
export function createValidate(compiled: ValidateFunction, budget: StepBudget): Validate {
  return (value) => {
    budget.restart();
    try {
      // A schema compiled as asynchronous returns a promise, which is truthy.
      if ((compiled(value) as unknown) === true) return NO_FAULTS;
      return toFaults(compiled.errors);
    } catch (error) {
      return [{ pointer: "", message: impossibility(error) }];
    } finally {
      // The errors refer to nothing of the value, but the compiled function would keep them until its next call.
      compiled.errors = null;
    }
  };
}

/** Ajv's errors as faults. Messages come from the schema and never hold the value. */
export function toFaults(errors: Ajv["errors"]): readonly Fault[] {
  if (!errors || errors.length === 0) return [{ pointer: "", message: "does not match the schema" }];
  return errors
    .slice(0, MAX_FAULTS)
    .map((error) => ({ pointer: pointerOf(error), message: cut(messageOf(error), MAX_MESSAGE_CHARS) }));
}

function pointerOf(error: ErrorObject): string {
  const added: unknown = error.params["additionalProperty"] ?? error.params["unevaluatedProperty"];
  return cut(typeof added === "string" ? error.instancePath + pointerToken(added) : error.instancePath, MAX_POINTER_CHARS);
}

function messageOf(error: ErrorObject): string {
  const { keyword, params } = error;
  if (keyword === "additionalProperties" || keyword === "unevaluatedProperties") return "is not allowed here";
  if (keyword === "false schema") return "is not allowed";
  if (keyword === "enum") return `must be one of ${JSON.stringify(params["allowedValues"])}`;
  if (keyword === "const") return `must be ${JSON.stringify(params["allowedValue"])}`;
  return error.message ?? `fails "${keyword}"`;
}

function impossibility(error: unknown): string {
  if (error instanceof StepsExceeded) return "is too large for the patterns of its schema";
  if (error instanceof RangeError) return "is nested too deeply for its schema";
  return "cannot be checked against its schema";
}

function cut(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}...` : text;
}
