import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const report = (entry: string) => `
  const before = { globals: Reflect.ownKeys(globalThis).length, events: process.eventNames().length };
  const exported = Object.keys(await import(${JSON.stringify(entry)}));
  // Node's own loader is still closing the files that it read.
  await new Promise((resolve) => setTimeout(resolve, 100));
  const added = {
    globals: Reflect.ownKeys(globalThis).length - before.globals,
    listeners: process.eventNames().length - before.events,
    handles: process.getActiveResourcesInfo().filter((name) => !name.startsWith("Pipe") && !name.startsWith("TTY")),
    exportsDefault: exported.includes("default"),
  };
  process.stdout.write(JSON.stringify(added));
`;

test.each(["dist/lib/index.js", "dist/middleware/index.js"])(
  "importing %s makes no file, keeps nothing open and changes nothing global",
  (entry) => {
    const folder = mkdtempSync(join(tmpdir(), "express-skills-"));
    try {
      const url = new URL(`../../${entry}`, import.meta.url).href;
      // The time limit is for a process that does not end because something is open.
      const output = execFileSync(process.execPath, ["--input-type=module", "--eval", report(url)], {
        cwd: folder,
        encoding: "utf8",
        timeout: 50_000,
        stdio: ["ignore", "pipe", "pipe"],
      });
      expect(JSON.parse(output)).toEqual({ globals: 0, listeners: 0, handles: [], exportsDefault: false });
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
