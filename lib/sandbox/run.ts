import { SkillError } from "../errors.js";
import type { SandboxConfig, SandboxResult } from "../types.js";
import { Aborted, orAborted } from "./abort.js";
import type { Admission } from "./admission.js";
import { answer } from "./answer.js";
import { type ContainerEnvironment, parseContainerEnvironment, validateCommand } from "./container-environment.js";
import type { Enforcement } from "./enforcement.js";
import type { Engine } from "./engine-table.js";
import { validateFiles } from "./files.js";
import { parseImageReference } from "./image-reference.js";
import type { ResolvedImage } from "./images.js";
import { nextContainerName } from "./instance.js";
import { type Limits, parseLimits } from "./limits.js";
import type { Room } from "./room.js";
import { type StartedContainer, startContainer } from "./start-container.js";

/** One run, checked. */
export interface RunRequest {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment: ContainerEnvironment;
  readonly limits: Limits;
  readonly config: SandboxConfig;
}

export interface Runner {
  readonly room: Room;
  readonly admission: Admission;
  readonly enforcement: Enforcement;
}

/** Slack of the deadline in a container's label over the run's own limits. */
export const deadlineSlackMs = 60_000;

/** Checks everything a caller gives, before anything is started. */
export function parseRun(
  image: string,
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  config: SandboxConfig,
  defaults: Limits,
): RunRequest {
  parseImageReference(image);
  validateCommand(command);
  const environment = parseContainerEnvironment(env);
  const own = copyConfig(config);
  const limits = parseLimits(own, defaults);
  if (own.files !== undefined) validateFiles(own.files);
  return { image, command: [...command], environment, limits, config: own };
}

/** What was checked is what is used, though the caller's objects change while the run waits. */
function copyConfig(config: SandboxConfig): SandboxConfig {
  if (typeof config !== "object" || config === null) return config;
  const { files } = config;
  const isPlain = typeof files === "object" && files !== null && !Array.isArray(files);
  return { ...config, ...(isPlain && { files: { ...files } }) };
}

/** How the container of a run is got and used. */
export interface Service {
  /** A container that was started ahead, asked for when there is a place for it; `null` for a new one. */
  claim(): StartedContainer | null;
  /** Gives a started container its input, and waits for its answer. */
  answer(started: StartedContainer, servedFrom: "warm" | "cold"): Promise<SandboxResult>;
}

/** Runs a program in a container, to its end, when it is its turn. */
export async function runContainer(
  runner: Runner,
  request: RunRequest,
  service: Service = serveWhole(request),
): Promise<SandboxResult> {
  const { signal } = request.config;
  const room = runner.room;
  let engine: Engine | null = null;
  try {
    if (signal?.aborted === true) throw new Aborted();
    engine = await orAborted(room.choice.choose(), signal);
    checkCpus(request.limits, engine);
    const leave = await runner.admission.enter(signal);
    return await runAdmitted(runner, request, engine, service, leave);
  } catch (error) {
    // The caller's own reason can be an error of any kind.
    const isCallers = signal?.aborted === true && (error === signal.reason || !(error instanceof SkillError));
    if (isCallers) return abortedResult(room, request, engine);
    if (error instanceof SkillError && error.code === "SANDBOX_UNAVAILABLE") room.choice.forget();
    throw error;
  }
}

async function runAdmitted(
  runner: Runner,
  request: RunRequest,
  engine: Engine,
  service: Service,
  leave: () => void,
): Promise<SandboxResult> {
  let started = service.claim();
  try {
    if (started !== null) return await service.answer(started, "warm");
    started = await startForRun(runner, request, engine);
    try {
      return await service.answer(started, "cold");
    } catch (error) {
      // The internal network may have been removed by somebody since it was made.
      if (error instanceof SkillError && error.code === "START_FAILED") runner.room.networks.forget();
      // The look-up of the image is kept for some seconds; it may have been removed since.
      if (!(error instanceof SkillError && error.code === "IMAGE_NOT_FOUND")) throw error;
      runner.room.images.forget(engine, request.image);
      void started.release();
      started = await startForRun(runner, request, engine);
      return await service.answer(started, "cold");
    }
  } finally {
    if (started === null) leave();
    else void started.release().finally(leave);
  }
}

async function startForRun(runner: Runner, request: RunRequest, engine: Engine): Promise<StartedContainer> {
  const { room, enforcement } = runner;
  const { limits, config } = request;
  const image: ResolvedImage = await orAborted(room.images.resolve(engine, request.image, limits.pull), config.signal);
  await orAborted(enforcement.ensure(room, engine, image), config.signal);
  if (config.signal?.aborted === true) throw new Aborted();
  return startContainer(room, {
    engine,
    image,
    command: request.command,
    environment: request.environment,
    limits,
    files: config.files,
    signal: config.signal,
    lifetimeMs: limits.startTimeoutMs + limits.timeoutMs + deadlineSlackMs,
  });
}

/** In a new container, whose whole output is the answer. */
function serveWhole({ image, config, limits }: RunRequest): Service {
  return {
    claim: () => null,
    answer: (started, servedFrom) =>
      answer(started, {
        image,
        input: config.stdin ?? "",
        timeoutMs: limits.timeoutMs,
        signal: config.signal,
        reply: "exit",
        servedFrom,
      }),
  };
}

function checkCpus(limits: Limits, engine: Engine): void {
  if (engine.cpus === null || limits.cpus <= engine.cpus) return;
  throw new SkillError("INVALID_OPTION", `cpus is ${limits.cpus}, but ${engine.traits.name} has ${engine.cpus}.`, {
    faults: [{ pointer: "/cpus", message: `must be at most ${engine.cpus}` }],
  });
}

/** The caller gave up before a container was started. */
function abortedResult(room: Room, request: RunRequest, engine: Engine | null): SandboxResult {
  return {
    id: nextContainerName(room.instance, Date.now()),
    runtime: engine?.traits.name ?? "none",
    image: request.image,
    exitCode: null,
    signal: null,
    stdout: "",
    stderr: "",
    stdoutTruncated: false,
    stderrTruncated: false,
    durationMs: 0,
    startupMs: null,
    killed: false,
    timedOut: false,
    aborted: true,
    oomKilled: false,
    servedFrom: "cold",
    warnings: [],
  };
}
