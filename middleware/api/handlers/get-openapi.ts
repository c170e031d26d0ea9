import { type AnyRoute, defineRoute } from "../route.js";

/** Makes the row whose answer describes every row, itself too. */
export function createGetOpenApi(document: () => object): AnyRoute {
  return defineRoute({
    method: "GET",
    path: "openapi.json",
    role: "caller",
    id: "getOpenApi",
    summary: "This document",
    responses: { 200: { description: "An OpenAPI 3.1 document.", body: "OpenApi" } },
    handle: () => ({ status: 200, body: document() }),
  });
}
