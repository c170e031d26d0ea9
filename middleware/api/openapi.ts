import type { AnyRoute, ApiResponse, PlainSchema } from "./route.js";
import { components } from "./schemas/components.js";

const DESCRIPTION = `Skills, their executions, and what operators need.

A caller has one of three roles, each of which may do what the ones after it may: \`admin\`, \`operator\`, \`caller\`. How it says who it is, is up to the application. Executions and skills of others do not exist for a \`caller\` (404).

Writes need no \`Origin\` of another site, and those with POST and PATCH the content type \`application/json\`, also without a body. Errors are problem details (RFC 9457).`;

const RESPONSE_HEADERS = {
  Location: { description: "Relative to the address that was asked.", schema: { type: "string", format: "uri-reference" } },
  "Retry-After": { description: "In how many seconds it makes sense to look.", schema: { type: "integer", minimum: 1 } },
  "Preference-Applied": { description: "The preference that was followed (RFC 7240).", schema: { type: "string" } },
} as const;

/** The OpenAPI 3.1 document of a table of routes. */
export function describeApi(routes: readonly AnyRoute[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = `/${route.path}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "express-skills", version: "1", description: DESCRIPTION, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: ".", description: "Where this document was found." }],
    tags: [
      { name: "skills", description: "What can be run." },
      { name: "executions", description: "What was run, and runs." },
      { name: "operation", description: "How the server is." },
    ],
    security: [{ application: [] }],
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        application: {
          type: "http",
          scheme: "bearer",
          description: "Whatever the application's `authorize` takes: this is an example.",
        },
      },
    },
  };
}

function operationOf(route: AnyRoute): object {
  const role = route.role === null ? "Needs no role." : `Needs the role \`${route.role}\`.`;
  const parameters = parametersOf(route);
  return {
    operationId: route.id,
    tags: [tagOf(route.path)],
    summary: route.summary,
    description: route.description === undefined ? role : `${route.description}\n\n${role}`,
    ...(route.role === null ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: { content: json(route.body.component) } }),
    responses: {
      ...Object.fromEntries(Object.entries(route.responses).map(([status, response]) => [status, responseOf(response)])),
      "4XX": problem("The request is refused."),
      "5XX": problem("The server could not do it."),
    },
  };
}

function parametersOf({ path, query = {}, headers = {} }: AnyRoute): object[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const described = (place: string) => (entry: [string, PlainSchema]) => {
    const [name, { description, ...schema }] = entry;
    return { name, in: place, ...(description === undefined ? {} : { description }), schema };
  };
  return [...inPath, ...Object.entries(query).map(described("query")), ...Object.entries(headers).map(described("header"))];
}

function responseOf({ description, body, type, headers = [] }: ApiResponse): object {
  return {
    description,
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers.map((name) => [name, RESPONSE_HEADERS[name]])) }),
    ...(body === undefined ? {} : { content: json(body) }),
    ...(type === undefined ? {} : { content: { [type]: { schema: { type: "string" } } } }),
  };
}

function json(component: string): object {
  return { "application/json": { schema: { $ref: `#/components/schemas/${component}` } } };
}

function problem(description: string): object {
  return { description, content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } } };
}

function tagOf(path: string): string {
  const [first = ""] = path.split("/");
  if (path.endsWith("executions") || first === "executions") return "executions";
  return first === "skills" ? "skills" : "operation";
}
