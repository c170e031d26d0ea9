import { createSkills, type SkillsKit } from "../skills.js";
import type { Logger } from "../types.js";
import { databaseOf, requireDatabase } from "./chosen-database.js";
import type { CommandContext, CommonOptions } from "./command.js";
import { noteLogger } from "./note-logger.js";

const GRACE_MS = 2_000;

export interface WithKitOptions {
  readonly logger?: Logger;
  /** Whether the database is made when it is not there. Default false. */
  readonly mayMakeDatabase?: boolean;
  /** Containers that are started ahead. Default 0. */
  readonly maxSlots?: number;
}

/** Does work with a kit on the command's database, and closes it however that ends. */
export async function withKit<T>(
  context: CommandContext,
  options: CommonOptions,
  work: (kit: SkillsKit) => Promise<T>,
  { logger = noteLogger(context.terminal), mayMakeDatabase = false, maxSlots = 0 }: WithKitOptions = {},
): Promise<T> {
  const database = databaseOf(context, options);
  await requireDatabase(database, mayMakeDatabase);
  // A command is over before a container that it started ahead could serve, and before queued work that it took could end.
  const kit = createSkills({ database, logger, worker: false, sandbox: { maxSlots } });
  try {
    return await work(kit);
  } finally {
    await kit.close({ graceMs: context.signal.aborted ? 0 : GRACE_MS });
  }
}
