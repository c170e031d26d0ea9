import { createRequire } from "node:module";
import { createSkills } from "express-skills/core";
import { idAt } from "./ids.js";

/**
 * What an audit without group commits does: two single-row writes per call, each prepared and committed by itself, in the same table with
 * the same indexes.
 * @param {string} file
 */
export async function openTwoWrites(file) {
  const kit = createSkills({ database: file });
  await kit.ready();
  await kit.close();
  const Database = createRequire(import.meta.url)("better-sqlite3");
  const database = new Database(file);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 67108864");
  const insert = database.prepare(
    `insert into skill_executions (id, skill_id, skill_name, skill_version, api_key_id, root_id, instance_id, status, input, input_state,
       output_state, attempts, created_at) values (?, ?, ?, ?, ?, ?, ?, 'RUNNING', ?, 'whole', 'none', 1, ?)`,
  );
  const update = database.prepare(
    "update skill_executions set status = 'SUCCESS', output = ?, output_state = 'whole', duration_ms = ?, finished_at = ? where id = ?",
  );
  let count = 0;

  return {
    /**
     * @param {object} input
     * @param {(input: any) => unknown} handler
     */
    async call(input, handler) {
      count += 1;
      const startedAt = Date.now();
      const id = idAt(startedAt, count);
      insert.run(id, "s", "measure", "1.0.0", "default", id, "i", JSON.stringify(input), new Date(startedAt).toISOString());
      const output = await handler(input);
      const endedAt = Date.now();
      update.run(JSON.stringify(output), endedAt - startedAt, new Date(endedAt).toISOString(), id);
      return output;
    },
    close: () => database.close(),
  };
}
