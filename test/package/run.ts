import { execFile } from "node:child_process";

/** Runs a program to its end and gives its standard output; its error has both outputs in the message. */
export function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: outsideEnvironment(), timeout: 240_000, maxBuffer: 64 * 1024 * 1024 };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(" ")} failed: ${error.message}\n${stdout}\n${stderr}`));
    });
  });
}

/** Without what npm and vitest tell their children, so that a child behaves as one started by a user. */
function outsideEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_(registry|cache))|VITEST|VITE_|TEST$|NODE_ENV$)/i.test(name),
  );
  return Object.fromEntries(own);
}
