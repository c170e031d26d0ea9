// The programs inside the containers. Each reads one line with { source, input }, and prints one line with the answer. What the given code
// prints is collected, so that it does not get into the answer. Nothing here protects anything: the container does.

export const javaScriptRunner = `
import { createInterface } from "node:readline";
import { format } from "node:util";

const log = [];
const note = (...parts) => void (log.length < 100 && log.push(format(...parts).slice(0, 1000)));
Object.assign(console, { log: note, info: note, warn: note, error: note, debug: note });
const answer = (value) => process.stdout.write(JSON.stringify({ ...value, log }) + "\\n", () => process.exit());

for await (const line of createInterface({ input: process.stdin })) {
  const { source, input } = JSON.parse(line);
  try {
    const { default: run } = await import("data:text/javascript," + encodeURIComponent(source));
    if (typeof run !== "function") throw new TypeError("the module has no function as its default export");
    answer({ result: (await run(input)) ?? null });
  } catch (error) {
    answer({ error: String(error?.cause ?? error).slice(0, 1000) });
  }
  break;
}
`;

export const pythonRunner = `
import io, json, sys
out, sys.stdout = sys.stdout, io.StringIO()
request = json.loads(sys.stdin.readline())
try:
    program = {}
    exec(compile(request["source"], "program", "exec"), program)
    answer = {"result": program["main"](request.get("input"))}
    json.dumps(answer)
except BaseException as error:
    answer = {"error": (type(error).__name__ + ": " + str(error))[:1000]}
lines = sys.stdout.getvalue().splitlines() if isinstance(sys.stdout, io.StringIO) else []
out.write(json.dumps({**answer, "log": [line[:1000] for line in lines[:100]]}) + chr(10))
out.flush()
`;
