import { Ajv, type Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import type { Fault } from "../../errors.js";
import type { SchemaObject, SensitiveMarks, Skill } from "../../types.js";
import { inspectSchema } from "./inspect.js";
import { withoutNotes } from "./keywords.js";
import { compileLinearPattern, StepBudget } from "./linear-pattern.js";
import { findSensitiveMarks } from "./sensitive-marks.js";
import { createValidate, toFaults, type Validate } from "./validator.js";

export interface CompiledSchema {
  readonly validate: Validate;
  /** Where the schema marks values as sensitive; `undefined` when nowhere. */
  readonly marks: SensitiveMarks | undefined;
}

/** A schema that cannot be compiled. The pointers of its faults start at the schema. */
export class SchemaRefusal extends Error {
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[], cause?: unknown) {
    super("The schema is not valid", { cause });
    this.faults = faults;
  }
}

/** An instance remembers something of each schema for good; after this many it is replaced. */
const COMPILES_PER_INSTANCE = 500;

type Dialect = "2020-12" | "draft-07";

const dialects: ReadonlyMap<string, Dialect> = new Map([
  ["json-schema.org/draft/2020-12/schema", "2020-12"],
  ["json-schema.org/draft-07/schema", "draft-07"],
]);

interface Instance {
  readonly ajv: Ajv;
  readonly budget: StepBudget;
  compiles: number;
}

/** Compiles schemas, with one shared Ajv for each dialect and pattern engine: an instance of its own for each schema costs tens of milliseconds. */
export class SchemaCompiler {
  readonly #instances = new Map<string, Instance>();

  /**
   * Unknown keywords and unknown formats are notes, as JSON Schema says; every other fault is refused. Values are never coerced, completed or
   * stripped.
   * @throws SchemaRefusal
   */
  compile(schema: SchemaObject, patterns: Skill["patterns"]): CompiledSchema {
    const dialect = dialectOf(schema);
    const faults = inspectSchema(schema, patterns);
    if (faults.length > 0) throw new SchemaRefusal(faults);
    const instance = this.#instance(dialect, patterns);
    const copy = withoutNotes(schema);
    try {
      instance.budget.restart();
      if (instance.ajv.validateSchema(copy) !== true) throw new SchemaRefusal(toFaults(instance.ajv.errors));
      return { validate: createValidate(instance.ajv.compile(copy), instance.budget), marks: findSensitiveMarks(schema) };
    } catch (error) {
      if (error instanceof SchemaRefusal) throw error;
      throw new SchemaRefusal([{ pointer: "", message: compileProblem(error) }], error);
    } finally {
      instance.ajv.removeSchema(copy);
      instance.ajv.errors = null;
    }
  }

  #instance(dialect: Dialect, patterns: Skill["patterns"]): Instance {
    const key = `${dialect} ${patterns}`;
    const known = this.#instances.get(key);
    const instance = known !== undefined && known.compiles < COMPILES_PER_INSTANCE ? known : createInstance(dialect, patterns);
    instance.compiles++;
    this.#instances.set(key, instance);
    return instance;
  }
}

function dialectOf(schema: SchemaObject): Dialect {
  const uri = schema["$schema"];
  if (uri === undefined) return "2020-12";
  const dialect = typeof uri === "string" ? dialects.get(uri.replace(/^https?:\/\//, "").replace(/#$/, "")) : undefined;
  if (dialect !== undefined) return dialect;
  const message =
    "must name draft 2020-12 (https://json-schema.org/draft/2020-12/schema) or draft-07 (http://json-schema.org/draft-07/schema#)";
  throw new SchemaRefusal([{ pointer: "/$schema", message }]);
}

function createInstance(dialect: Dialect, patterns: Skill["patterns"]): Instance {
  const budget = new StepBudget();
  const options: Options = {
    strict: false,
    allErrors: false,
    addUsedSchema: false,
    validateSchema: false,
    logger: false,
    ...(patterns === "linear" ? { code: { regExp: linearEngine(budget) } } : {}),
  };
  const ajv = dialect === "2020-12" ? new Ajv2020(options) : new Ajv(options);
  ajvFormats.default(ajv);
  // Looked up by what a schema writes: without a prototype "constructor" is no format.
  Object.setPrototypeOf(ajv.formats, null);
  return { ajv, budget, compiles: 0 };
}

function linearEngine(budget: StepBudget) {
  const engine = (pattern: string) => compileLinearPattern(pattern, budget);
  // Ajv asks for it to write standalone code, which is not done here.
  return Object.assign(engine, { code: "linear" });
}

function compileProblem(error: unknown): string {
  if (error instanceof RangeError) return "is nested too deeply";
  return `cannot be compiled: ${error instanceof Error ? error.message.slice(0, 200) : "unknown reason"}`;
}
