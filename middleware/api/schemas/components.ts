import { executionSchemas } from "./execution.js";
import { operationSchemas } from "./operation.js";
import { skillSchemas } from "./skill.js";

/** Every schema that the OpenAPI document names. */
export const components = { ...skillSchemas, ...executionSchemas, ...operationSchemas } as const;

export type ComponentName = keyof typeof components;
