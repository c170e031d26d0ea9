import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const web = [fileURLToPath(new URL("web.js", import.meta.url))];
const skills = fileURLToPath(new URL("skills.js", import.meta.url));
const commandLine = fileURLToPath(new URL("../../dist/lib/cli/bin.js", import.meta.url));
const worker = [commandLine, "worker", "--require", skills, "--concurrency", "10"];
const START_AGAIN_MS = 500;
const STOP_LIMIT_MS = 30_000;

/**
 * @typedef {object} Place where one process runs, and another one after it
 * @property {"web" | "worker"} role
 * @property {import("node:child_process").ChildProcess | undefined} child
 * @property {string | undefined} url of a web process that listens
 * @property {boolean} isReady
 * @property {boolean} isKilled whether the process that ends is ours to blame
 *
 * @typedef {object} End of a process that nobody ended
 * @property {string} text
 * @property {number} startedAtMs by the clock of `performance.now()`
 * @property {number} endedAtMs
 * @property {boolean} wasReady
 */

/** Keeps three web processes and three workers running, as a supervisor on a server does. */
export class Processes {
  /** @type {Place[]} */
  places = [];
  killed = { web: 0, worker: 0 };
  /** @type {End[]} */
  endedBySelf = [];
  #isStopping = false;
  #folder;
  #environment;
  #isVerbose;

  /** @param {{ folder: string, environment: NodeJS.ProcessEnv, isVerbose: boolean }} options */
  constructor({ folder, environment, isVerbose }) {
    this.#folder = folder;
    this.#environment = environment;
    this.#isVerbose = isVerbose;
  }

  /** Resolves when each has started. The first one makes the tables. */
  async start() {
    this.#add("web");
    await this.untilReady();
    for (const role of /** @type {const} */ (["web", "web", "worker", "worker", "worker"])) this.#add(role);
    await this.untilReady();
  }

  async untilReady() {
    while (!this.places.every(({ isReady }) => isReady)) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  /** @returns {string[]} the addresses of the web processes that listen */
  get urls() {
    return this.places.flatMap(({ url }) => url ?? []);
  }

  /** @param {Place} place */
  kill(place) {
    if (place.child === undefined) return;
    place.isKilled = true;
    this.killed[place.role] += 1;
    place.child.kill("SIGKILL");
  }

  /** Stops every process as an operator does; gives those that did not end well. */
  async stop() {
    this.#isStopping = true;
    const stopped = this.places.map(async ({ role, child }) => {
      if (child === undefined) return [];
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
      const [code, signal] = await ended;
      clearTimeout(timer);
      return code === 0 ? [] : [`a ${role} that was stopped ended with ${signal ?? code}`];
    });
    return (await Promise.all(stopped)).flat();
  }

  /** Ends every process at once. */
  async end() {
    this.#isStopping = true;
    const children = this.places.flatMap(({ child }) => child ?? []);
    const ended = children.map((child) => once(child, "exit"));
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(ended);
  }

  /** @param {Place["role"]} role */
  #add(role) {
    /** @type {Place} */
    const place = { role, child: undefined, url: undefined, isReady: false, isKilled: false };
    this.places.push(place);
    this.#spawn(place);
  }

  /** @param {Place} place */
  #spawn(place) {
    const child = spawn(process.execPath, place.role === "web" ? web : worker, {
      // The folder is also what tells these processes' containers from all others.
      cwd: this.#folder,
      env: { ...process.env, ...this.#environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const startedAtMs = performance.now();
    Object.assign(place, { child, url: undefined, isReady: false, isKilled: false });
    child.stdout.setEncoding("utf8").on("data", (text) => {
      if (place.child !== child || place.role !== "web") return;
      Object.assign(place, { url: String(text).trim(), isReady: true });
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said = (said + text).slice(-500);
      if (this.#isVerbose) process.stderr.write(text);
      if (place.child === child && place.role === "worker" && said.includes("The worker is ready")) place.isReady = true;
    });
    child.once("exit", (code, signal) => {
      const { isReady: wasReady } = place;
      Object.assign(place, { child: undefined, url: undefined, isReady: false });
      if (this.#isStopping) return;
      const text = `a ${place.role} ended by itself with ${signal ?? code}: ${said.trim().slice(-200)}`;
      if (!place.isKilled) this.endedBySelf.push({ text, startedAtMs, endedAtMs: performance.now(), wasReady });
      setTimeout(() => !this.#isStopping && this.#spawn(place), START_AGAIN_MS);
    });
  }
}
