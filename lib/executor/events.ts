import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { SkillExecution } from "../types.js";
import { toStored } from "./redact.js";

/** How far a handler says it is. */
export interface ExecutionProgress {
  /** 0 to 1. */
  readonly fraction: number;
  readonly message: string | null;
  readonly attempt: number;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** What a handler logged, or its container wrote to its standard error. */
export interface ExecutionLine {
  readonly kind: "log" | "stderr";
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly text: string;
  /** Redacted and cut like stored inputs; `null` without fields, or with fields that are not JSON. */
  readonly fields: unknown;
  /** `null` for what a container wrote. */
  readonly attempt: number | null;
}

/** Something that was noted. Numbers rise within one `ExecutionEvents`, over all its executions. */
export interface Numbered<T> {
  readonly number: number;
  readonly value: T;
}

/** What is remembered of a call that said something: its last progress and its last lines. */
export interface ExecutionTrace {
  readonly progress: Numbered<ExecutionProgress> | undefined;
  /** Oldest first, at most 100. */
  readonly lines: readonly Numbered<ExecutionLine>[];
  /** Lines that are no longer remembered. */
  readonly forgotten: number;
}

/** A trace as it goes from the instance that runs an execution to others. */
export interface SharedTrace {
  /** `ExecutionEvents.id` of the one whose numbers these are. */
  readonly source: string;
  readonly progress: Numbered<ExecutionProgress> | null;
  readonly lines: readonly Numbered<ExecutionLine>[];
}

export type StatusChange = Numbered<SkillExecution<unknown>>;

/** Told when an execution changed its status, and when it said something that its trace now holds. Must not throw. */
export interface ExecutionWatcher {
  onStatus(change: StatusChange): void;
  onTrace(): void;
  /** Nothing follows: the kit is closed. */
  onClose(): void;
}

const MAX_LINES = 100;
const MAX_TRACE_BYTES = 64 * 1024;
const MAX_ALL_TRACES_BYTES = 32 * 1024 * 1024;
const MAX_TEXT_CHARS = 4_096;
const MAX_FIELDS_BYTES = 4_096;
/** What a trace and each of its lines cost besides their text. */
const OVERHEAD_BYTES = 200;

interface Trace {
  progress: Numbered<ExecutionProgress> | undefined;
  lines: { readonly number: number; readonly value: ExecutionLine; readonly bytes: number }[];
  forgotten: number;
  bytes: number;
  /** Of a trace that came from another instance: what of it is here. */
  shared?: { readonly source: string; readonly number: number };
}

/**
 * What happens to the executions of this process while it happens. A call that says nothing and that nobody watches costs nothing here.
 * Traces stay after their call has ended, until newer ones need the room.
 */
export class ExecutionEvents {
  /** Tells these numbers from those of another process or kit. */
  readonly id = randomBytes(6).toString("base64url");
  readonly #traces = new LRUCache<string, Trace>({ maxSize: MAX_ALL_TRACES_BYTES });
  readonly #watchers = new Map<string, Set<ExecutionWatcher>>();
  readonly #allWatchers = new Set<Omit<ExecutionWatcher, "onTrace">>();
  #number = 0;

  /** The number of the latest event. */
  get number(): number {
    return this.#number;
  }

  /** Whether anybody watches anything: else a status need not be told. */
  get isWatched(): boolean {
    return this.#watchers.size > 0 || this.#allWatchers.size > 0;
  }

  /** Watches one execution; returns what ends that. */
  watch(executionId: string, watcher: ExecutionWatcher): () => void {
    const watchers = this.#watchers.get(executionId) ?? new Set();
    this.#watchers.set(executionId, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(executionId) === watchers) this.#watchers.delete(executionId);
    };
  }

  /** Watches the status of every execution of this process; returns what ends that. */
  watchAll(watcher: Omit<ExecutionWatcher, "onTrace">): () => void {
    this.#allWatchers.add(watcher);
    return () => this.#allWatchers.delete(watcher);
  }

  /** A number for an event that is told elsewhere. */
  takeNumber(): number {
    return ++this.#number;
  }

  trace(executionId: string): ExecutionTrace | undefined {
    return this.#traces.get(executionId);
  }

  /** Tells a status; `execution` is called only when somebody watches. */
  status(executionId: string, execution: () => SkillExecution<unknown>): void {
    const watchers = this.#watchers.get(executionId);
    if (watchers === undefined && this.#allWatchers.size === 0) return;
    const change = { number: ++this.#number, value: execution() };
    for (const watcher of watchers ?? []) watcher.onStatus(change);
    for (const watcher of this.#allWatchers) watcher.onStatus(change);
  }

  progress(executionId: string, attempt: number, fraction: number, message: string | undefined): void {
    const trace = this.#traceOf(executionId);
    const text = message === undefined ? null : cut(String(message));
    const value = { fraction, message: text, attempt, at: new Date().toISOString() };
    trace.progress = { number: ++this.#number, value };
    this.#tell(executionId);
  }

  log(executionId: string, attempt: number, message: string, fields: object | undefined): void {
    const text = cut(String(message));
    const shown = fields === undefined ? undefined : storableFields(fields);
    const value = { kind: "log", at: new Date().toISOString(), text, fields: shown?.value ?? null, attempt } as const;
    this.#add(executionId, value, 2 * text.length + (shown?.bytes ?? 0));
  }

  /** What the container of an execution wrote to its standard error: each line is noted for itself. */
  stderr(executionId: string, text: string): void {
    for (const line of text.replace(/\n$/, "").split(/\r?\n/)) {
      for (let at = 0; at === 0 || at < line.length; at += MAX_TEXT_CHARS) {
        const part = line.slice(at, at + MAX_TEXT_CHARS);
        const value = { kind: "stderr", at: new Date().toISOString(), text: part, fields: null, attempt: null } as const;
        this.#add(executionId, value, 2 * part.length);
      }
    }
  }

  /** What other instances shall know of an execution, and the number of the latest of it; `undefined` when it said nothing. */
  share(executionId: string): { readonly number: number; readonly trace: SharedTrace } | undefined {
    const trace = this.#traces.get(executionId);
    if (trace === undefined) return undefined;
    const lines = trace.lines.map(({ number, value }) => ({ number, value }));
    const number = Math.max(trace.progress?.number ?? 0, lines.at(-1)?.number ?? 0);
    return { number, trace: { source: this.id, progress: trace.progress ?? null, lines } };
  }

  /** Takes over what another instance shared of an execution, as far as it is new here. */
  absorb(executionId: string, { source, progress, lines }: SharedTrace): void {
    if (source === this.id) return;
    const trace = this.#traceOf(executionId);
    const seen = trace.shared?.source === source ? trace.shared.number : 0;
    const number = Math.max(seen, progress?.number ?? 0, lines.at(-1)?.number ?? 0);
    if (number === seen) return;
    trace.shared = { source, number };
    if (progress !== null && progress.number > seen) trace.progress = { number: ++this.#number, value: progress.value };
    for (const line of lines) {
      if (line.number > seen) this.#add(executionId, line.value, 2 * JSON.stringify(line.value).length);
    }
    this.#tell(executionId);
  }

  /** Tells every watcher that nothing follows. */
  close(): void {
    for (const watchers of [...this.#watchers.values(), this.#allWatchers]) {
      for (const watcher of [...watchers]) watcher.onClose();
    }
  }

  #add(executionId: string, value: ExecutionLine, textBytes: number): void {
    const trace = this.#traceOf(executionId);
    const bytes = textBytes + OVERHEAD_BYTES;
    trace.lines.push({ number: ++this.#number, value, bytes });
    trace.bytes += bytes;
    while (trace.lines.length > MAX_LINES || (trace.bytes > MAX_TRACE_BYTES && trace.lines.length > 1)) {
      trace.bytes -= trace.lines.shift()?.bytes ?? 0;
      trace.forgotten++;
    }
    // Again with its new size, so that all traces together stay within their room.
    this.#traces.set(executionId, trace, { size: trace.bytes });
    this.#tell(executionId);
  }

  #traceOf(executionId: string): Trace {
    const known = this.#traces.get(executionId);
    if (known !== undefined) return known;
    const trace: Trace = { progress: undefined, lines: [], forgotten: 0, bytes: OVERHEAD_BYTES + 2 * MAX_TEXT_CHARS };
    this.#traces.set(executionId, trace, { size: trace.bytes });
    return trace;
  }

  #tell(executionId: string): void {
    for (const watcher of this.#watchers.get(executionId) ?? []) watcher.onTrace();
  }
}

function cut(text: string): string {
  return text.length <= MAX_TEXT_CHARS ? text : `${text.slice(0, MAX_TEXT_CHARS - 1)}…`;
}

/** A copy, since the handler may go on changing its object. */
function storableFields(fields: object): { readonly value: unknown; readonly bytes: number } | undefined {
  try {
    const { text } = toStored(JSON.stringify(fields), undefined, MAX_FIELDS_BYTES);
    return { value: JSON.parse(text), bytes: 2 * text.length };
  } catch {
    return undefined;
  }
}
