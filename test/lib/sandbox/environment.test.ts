import { expect, test } from "vitest";
import { createSandbox } from "../../../lib/sandbox/sandbox.js";
import { meddlingImage, onEachEngine, shellImage } from "../../engines/engines.js";
import { createStubEngine } from "../../engines/stub-engine.js";

onEachEngine("environment and arguments", (engine) => {
  test("values arrive byte for byte", async () => {
    const env = { ML: "l1\nl2", Q: '"x"', E: "a=b", U: "€", EMPTY: "", SPACES: "  a  ", DOLLAR: "$HOME `id`" };
    const print = Object.keys(env).map((name) => `"$${name}"`);
    const { stdout } = await engine.shared.run(shellImage, ["sh", "-c", `printf '%s\\0' ${print.join(" ")}`], env);
    expect(stdout.split("\0").slice(0, -1)).toEqual(Object.values(env));
  });

  test("names that steer the command line program reach the container and steer nothing", async () => {
    const env = {
      PATH: "/bin:/nowhere",
      HOME: "/tmp/home",
      TMPDIR: "/nowhere",
      LD_PRELOAD: "",
      DOCKER_HOST: "unix:///nowhere",
      CONTAINER_HOST: "unix:///nowhere",
      CONTAINERS_CONF: "/nowhere",
      XDG_RUNTIME_DIR: "/nowhere",
      HTTP_PROXY: "http://proxy.invalid",
      https_proxy: "http://proxy.invalid",
      GODEBUG: "x=1",
    };
    const { stdout, exitCode } = await engine.shared.run(shellImage, ["env"], env);
    expect(exitCode).toBe(0);
    for (const [name, value] of Object.entries(env)) expect(stdout.split("\n")).toContain(`${name}=${value}`);
  });

  test("nothing of the server's environment is visible inside", async () => {
    const environment = {
      ...engine.environment,
      SECRET_TOKEN: "s3cret",
      HTTP_PROXY: "http://s3cret.invalid",
      http_proxy: "http://s3cret.invalid",
      no_proxy: "s3cret",
    };
    const { stdout } = await engine.sandbox({ environment }).run(shellImage, ["env"]);
    expect(stdout).not.toContain("s3cret");
    expect(stdout).not.toMatch(/proxy/i);
  });

  test("the image's entry point, volumes, user, working directory and health check do not apply", async () => {
    const script = 'id -u; pwd; grep " /data " /proc/mounts; touch /data/mine && echo writable; sleep 2; ls /tmp';
    const { stdout, exitCode } = await engine.shared.run(meddlingImage, ["sh", "-c", script]);
    const lines = stdout.trim().split("\n");
    expect(exitCode).toBe(0);
    expect(lines[0]).toBe("65534");
    expect(lines[1]).toBe("/workspace");
    expect(lines[2]).toMatch(/^tmpfs \/data tmpfs .*size=65536k/);
    expect(lines.slice(3)).toEqual(["writable"]);
  });
});

const stub = async (commands = {}) => {
  const made = await createStubEngine(commands);
  const sandbox = createSandbox({ runtime: "docker", allowUnenforcedLimits: true, owner: "stub", environment: made.environment });
  return { ...made, sandbox };
};

test("a value never stands in the arguments unless its name would steer the command line program", async () => {
  const { sandbox, calls } = await stub();
  await sandbox.run("any", ["x"], { TOKEN: "hidden-value", PATH: "/shown" });
  const run = (await calls()).find((call) => call.startsWith("run")) ?? "";
  expect(run).toContain("--env TOKEN ");
  expect(run).not.toContain("hidden-value");
  expect(run).toContain("--env PATH=/shown");
  await sandbox.close();
});

test.each(["1A", "a-b", "a.b", "", "a b", "A=B", "*", "ÄA"])(
  "a variable named %j is refused and nothing is started",
  async (name) => {
    const { sandbox, calls } = await stub();
    await expect(sandbox.run("any", ["x"], { [name]: "v" })).rejects.toMatchObject({ code: "INVALID_ENV" });
    expect(await calls()).toEqual([]);
  },
);

test("sizes that the kernel refuses are refused first", async () => {
  const { sandbox, calls } = await stub();
  await expect(sandbox.run("any", ["x"], { A: "x".repeat(131_072) })).rejects.toMatchObject({ code: "ENV_TOO_LARGE" });
  await expect(sandbox.run("any", ["x", "y".repeat(131_072)])).rejects.toMatchObject({ code: "ENV_TOO_LARGE" });
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`V${index}`, "x".repeat(100_000)]));
  await expect(sandbox.run("any", ["x"], many)).rejects.toMatchObject({ code: "ENV_TOO_LARGE" });
  await expect(sandbox.run("any", ["x"], { A: "a\0b" })).rejects.toMatchObject({ code: "INVALID_ENV" });
  expect(await calls()).toEqual([]);
});

onEachEngine("the largest variable that is accepted", (engine) => {
  test("is one that the kernel accepts", async () => {
    const value = "x".repeat(128 * 1024 - 1 - 1 - 2);
    const { stdout } = await engine.shared.run(shellImage, ["sh", "-c", 'echo "${#A}"'], { A: value });
    expect(stdout).toBe(`${value.length}\n`);
  });
});

test.each([[[]], [[""]], [["a\0b"]], ["ls"], [[1]]])("the command %j is refused", async (command) => {
  const { sandbox, calls } = await stub();
  await expect(sandbox.run("any", command as never)).rejects.toMatchObject({ code: "INVALID_COMMAND" });
  expect(await calls()).toEqual([]);
});

test.each([
  "--privileged",
  "-v",
  "",
  "a b",
  "a/B",
  "a:b:c",
  "a@sha256:12",
  "../a",
  "a//b",
  "a/",
  "x\n",
  "host:99999999/a",
  "a".repeat(600),
  null,
])("the image %j is refused before anything is started", async (image) => {
  const { sandbox, calls } = await stub();
  await expect(sandbox.run(image as never, ["x"])).rejects.toMatchObject({ code: "INVALID_IMAGE" });
  expect(await calls()).toEqual([]);
});

test("image and command stand behind --, and the server's environment is not given to the command line program", async () => {
  const made = await createStubEngine({ run: 'env > "$FOLDER/env"' });
  const environment = { ...made.environment, SECRET: "s3cret", AWS_KEY: "s3cret", DOCKER_CONTEXT: "mine" };
  const sandbox = createSandbox({ runtime: "docker", allowUnenforcedLimits: true, owner: "stub", environment });
  await sandbox.run("any", ["--privileged", "x"]);
  const run = (await made.calls()).find((call) => call.startsWith("run")) ?? "";
  expect(run).toMatch(/ -- sha256:a+ --privileged x$/);
  const { readFile } = await import("node:fs/promises");
  const env = await readFile(`${made.folder}/env`, "utf8");
  expect(env).not.toContain("s3cret");
  expect(env).toContain("DOCKER_CONTEXT=mine");
  await sandbox.close();
});
