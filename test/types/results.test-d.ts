import type { RequestSkills } from "../../middleware/index.js";
import { same } from "./equal.js";

declare module "../../middleware/index.js" {
  interface SkillResults {
    onlyInTheTypeTests: { summary: string };
  }
}

declare global {
  namespace Express {
    interface Request {
      userOfTheTypeTests: { name: string };
    }
  }
}

/** An application types results by key, and its own additions to Express's request reach the functions of a step. */
export function anApplicationExtendsTheTypes(skills: RequestSkills): void {
  same<typeof skills.results.onlyInTheTypeTests.summary, string>();
  same<typeof skills.results.other, unknown>();
  skills.results.other = 1;
  // @ts-expect-error not what was declared
  skills.results.onlyInTheTypeTests = 1;
}
