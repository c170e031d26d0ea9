import { SkillError } from "../../../../lib/errors.js";
import { openStore } from "../../../../lib/store/open.js";
import { nextRevision } from "../../../../lib/store/skills.js";
import { gate } from "./gate.js";

await gate("ready");
const [database = ""] = process.argv.slice(2);
try {
  const store = await openStore({ database, durability: "process" });
  await store.write(nextRevision);
  await store.close();
  console.log("opened");
} catch (error) {
  console.log(error instanceof SkillError ? `${error.code}: ${error.message}` : error);
}
