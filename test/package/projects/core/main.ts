import assert from "node:assert/strict";
import { createSkills, isSkillError, type SkillsKit } from "express-skills/core";

const kit: SkillsKit = createSkills({ database: "core.db" });
const double = kit.define({
  name: "double",
  schema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  handler: ({ n }) => ({ n: n * 2 }),
});

try {
  const { n } = await kit.executor.run(double, { n: 21 });
  assert.equal(n, 42);
  console.log("works");
} catch (error) {
  if (!isSkillError(error)) throw error;
  console.log(`${error.code}: ${error.message}`);
} finally {
  await kit.close();
}
