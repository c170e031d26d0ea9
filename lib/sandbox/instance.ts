import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isProcessAlive } from "../process-alive.js";

/** One running sandbox in one process, as its containers' names and labels show it. */
export interface Instance {
  /** Hash of what the application is: only its own containers are ever removed. */
  readonly owner: string;
  /** Hash of what process numbers are relative to: the machine, and the container that the process itself may run in. */
  readonly host: string;
  readonly pid: number;
  /** When the process started: tells it from a later one with the same number. */
  readonly started: string;
  readonly random: string;
  /** How many names were given. */
  sequence: number;
}

export interface ContainerName {
  readonly owner: string;
  readonly host: string;
  readonly pid: number;
  readonly started: string;
  readonly random: string;
  /** Seconds since the epoch, after which nobody can still need the container. */
  readonly deadlineS: number;
}

export const ownerLabel = "express-skills.owner";
const instanceLabel = "express-skills.instance";
const deadlineLabel = "express-skills.deadline";

/** `owner` says which application this is; instances of the same owner on one machine clean up after each other. */
export function createInstance(owner: string): Instance {
  return {
    owner: hash(owner),
    host: hash(`${hostname()} ${processNamespace()}`),
    pid: process.pid,
    started: processStart(process.pid),
    random: randomBytes(5).toString("hex"),
    sequence: 0,
  };
}

/** Own, random and telling: what an image cannot forge, unlike labels, which containers inherit from it. */
export function nextContainerName(instance: Instance, deadlineMs: number): string {
  instance.sequence += 1;
  const deadline = Math.ceil(deadlineMs / 1000).toString(36);
  const sequence = instance.sequence.toString(36);
  return `express-skills-${instance.owner}-${processPart(instance)}-${deadline}-${sequence}`;
}

/** What all containers and folders of one sandbox have in common. */
export function processPart(instance: Pick<Instance, "host" | "pid" | "started" | "random">): string {
  return `${instance.host}-${instance.pid}-${instance.started}-${instance.random}`;
}

/** Reads a name that `nextContainerName` made; `null` for every other. */
export function parseContainerName(name: string): ContainerName | null {
  const match =
    /^express-skills-([0-9a-f]{8})-([0-9a-f]{8})-(\d{1,10})-([0-9a-z]{1,13})-([0-9a-f]{10})-([0-9a-z]{1,9})-[0-9a-z]{1,9}$/.exec(
      name,
    );
  if (match === null) return null;
  const [, owner = "", host = "", pid = "", started = "", random = "", deadline = ""] = match;
  return { owner, host, pid: Number(pid), started, random, deadlineS: Number.parseInt(deadline, 36) };
}

export function containerLabels(instance: Instance, deadlineMs: number): readonly string[] {
  return [
    `${ownerLabel}=${instance.owner}`,
    `${instanceLabel}=${processPart(instance)}`,
    `${deadlineLabel}=${Math.ceil(deadlineMs / 1000)}`,
  ];
}

/** Whether the process that made the name is gone, as far as this machine can tell. */
export function isInstanceDead(name: Pick<ContainerName, "host" | "pid" | "started">, instance: Instance): boolean {
  if (name.host !== instance.host) return false;
  const started = processStart(name.pid);
  if (started === unknownStart || name.started === unknownStart) return !isProcessAlive(name.pid);
  // The number of a dead process can belong to another one by now; after a restart inside a container it even is our own.
  return started !== name.started;
}

const unknownStart = "0";

/** Two containers can have one host name and one engine between them; each counts its processes for itself. */
function processNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

/** When a process started, in the kernel's ticks, in base 36; `"0"` where that cannot be learned, or when there is no such process. */
function processStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The program's name stands in parentheses and may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return BigInt(fields[19] ?? "0").toString(36);
  } catch {
    return unknownStart;
  }
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
