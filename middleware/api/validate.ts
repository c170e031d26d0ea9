import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import { coerceStrings, type Fault, SkillError, suggestion } from "../../lib/index.js";
import type { AnyRoute, PlainSchema } from "./route.js";
import { components } from "./schemas/components.js";

/** Checks queries and bodies by the schemas of their routes, which are compiled when they are first needed. */
export interface Validator {
  /** @throws INVALID_REQUEST */
  query(route: AnyRoute, search: string): Readonly<Record<string, unknown>>;
  /** @throws INVALID_REQUEST */
  body(route: AnyRoute, body: unknown): void;
}

type Check = ReturnType<Ajv2020["compile"]>;

const MAX_SEARCH_CHARS = 8_000;

export function createValidator(): Validator {
  const ajv = new Ajv2020({ allErrors: false, strict: true, allowUnionTypes: true });
  ajvFormats.default(ajv);
  const queries = new Map<AnyRoute, { readonly schema: PlainSchema; readonly check: Check }>();
  const bodies = new Map<AnyRoute, Check>();

  const queryOf = (route: AnyRoute) => {
    const known = queries.get(route);
    if (known !== undefined) return known;
    const schema = { type: "object", properties: route.query ?? {}, additionalProperties: false };
    const made = { schema, check: ajv.compile(schema) };
    queries.set(route, made);
    return made;
  };

  return {
    query(route, search) {
      if (search.length > MAX_SEARCH_CHARS) throw new SkillError("INVALID_REQUEST", "The query is too long.");
      const { schema, check } = queryOf(route);
      const values = coerceStrings(schema, readSearch(search));
      if (!check(values)) throw refused("parameter", check.errors ?? [], Object.keys(route.query ?? {}));
      return values;
    },
    body(route, body) {
      if (route.body?.isChecked !== true) return;
      const schema = components[route.body.component] as PlainSchema;
      const check = bodies.get(route) ?? ajv.compile(schema);
      bodies.set(route, check);
      if (!check(body))
        throw refused("field", check.errors ?? [], Object.keys((schema["properties"] as object | undefined) ?? {}));
    },
  };
}

/** A parameter that is given several times becomes an array. */
function readSearch(search: string): Record<string, string | string[]> {
  const values: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(search)) {
    const before = values[name];
    values[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return values;
}

function refused(what: "parameter" | "field", errors: readonly ErrorObject[], known: readonly string[]): SkillError {
  const faults = errors.map((error) => toFault(error, what, known));
  const [first = { pointer: "", message: "is not valid" }] = faults;
  const where =
    first.pointer === "" ? `the ${what === "field" ? "body" : "query"}` : `the ${what} ${first.pointer.slice(1, 101)}`;
  return new SkillError("INVALID_REQUEST", `The request is not valid: ${where} ${first.message}.`, { faults });
}

function toFault({ keyword, instancePath, params, message }: ErrorObject, what: string, known: readonly string[]): Fault {
  if (keyword === "additionalProperties") {
    const name = String(params["additionalProperty"]).slice(0, 100);
    const hint = suggestion(name, known).replace(/\?$/, "");
    return {
      pointer: `${instancePath}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      message: `is no known ${what}${hint}`,
    };
  }
  if (keyword === "enum")
    return { pointer: instancePath, message: `must be one of ${(params["allowedValues"] as unknown[]).join(", ")}` };
  return { pointer: instancePath, message: message ?? "is not valid" };
}
