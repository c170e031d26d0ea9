import { openStore } from "../../../../lib/store/open.js";
import { readSettings, writeSetting } from "../../../../lib/store/settings.js";
import { nextRevision } from "../../../../lib/store/skills.js";
import { gate } from "./gate.js";

await gate("ready");
const [database = "", times = "0"] = process.argv.slice(2);
const store = await openStore({ database, durability: "process" });
for (let n = 0; n < Number(times); n += 1) {
  await store.write(function* () {
    yield* nextRevision();
    const { counter } = yield* readSettings();
    yield* writeSetting("counter", Number(counter ?? 0) + 1);
  });
}
await store.close();
