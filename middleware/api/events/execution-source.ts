import type {
  ExecutionLine,
  ExecutionProgress,
  ExecutionTrace,
  Numbered,
  SkillExecution,
  SkillExecutor,
  StatusChange,
} from "../../../lib/index.js";
import { parseEventId, renderEvent, renderEventId, type StreamSource } from "./stream.js";

export interface ExecutionSourceOptions {
  readonly executor: SkillExecutor;
  readonly id: string;
  /** What the client last received, from its header `Last-Event-ID`. */
  readonly lastEventId: string | undefined;
  /** Whether log lines and what containers write are sent: they are for operators. */
  readonly withLines: boolean;
  /** What of an execution may be seen. */
  show(execution: SkillExecution<unknown>): SkillExecution<unknown>;
}

/** Progress and lines of one execution, as far as they are remembered. */
type Noted = { readonly type: "status" | "progress" | "log" | "stderr" | "gap"; readonly number: number; readonly data: unknown };

const POLL_MS = 1_000;

/**
 * What happens to one execution: first its state, then each change, until it has ended. What the trace holds is read when it is sent, so a
 * handler that says much in a short time costs no more than the last of it. An execution of another process is asked for every second.
 * `undefined` when there is no such execution.
 */
export async function openExecutionSource(options: ExecutionSourceOptions, wake: () => void): Promise<StreamSource | undefined> {
  const { executor, id } = options;
  const source = new ExecutionSource(options, wake);
  try {
    // Asked for once it is watched, so that nothing falls between the two.
    const execution = await executor.followExecution(id);
    if (execution !== undefined) return source.begin(execution);
  } catch (error) {
    source.stop();
    throw error;
  }
  source.stop();
  return undefined;
}

class ExecutionSource implements StreamSource {
  readonly #options: ExecutionSourceOptions;
  readonly #wake: () => void;
  readonly #unwatch: () => void;
  #changes: StatusChange[] = [];
  #execution: SkillExecution<unknown> | undefined;
  #poll: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** The number of the last event that was sent; `undefined` until the state was. */
  #sent: number | undefined;
  #linesSeen = 0;

  constructor(options: ExecutionSourceOptions, wake: () => void) {
    this.#options = options;
    this.#wake = wake;
    this.#unwatch = options.executor.events.watch(options.id, {
      onStatus: (change) => {
        this.#changes.push(change);
        wake();
      },
      onTrace: wake,
      onClose: () => {
        this.#isClosed = true;
        wake();
      },
    });
  }

  begin(execution: SkillExecution<unknown>): this {
    this.#execution = this.#changes.at(-1)?.value ?? execution;
    if (this.#execution.finishedAt === null && !this.#options.executor.isRunning(execution.id))
      this.#poll = setInterval(() => void this.#ask(), POLL_MS).unref();
    return this;
  }

  read(): { text: string; isLast: boolean } {
    const changes = this.#changes;
    this.#changes = [];
    this.#execution = changes.at(-1)?.value ?? this.#execution;
    const text = this.#sent === undefined ? this.#renderFirst() : this.#renderNew(this.#sent, changes);
    return { text, isLast: this.#isClosed || this.#execution?.finishedAt !== null };
  }

  stop(): void {
    this.#unwatch();
    clearInterval(this.#poll);
  }

  /** The state as it is; or, to a client that was here before and missed nothing that is forgotten, what it missed. */
  #renderFirst(): string {
    const { events } = this.#options.executor;
    const last = parseEventId(events.id, this.#options.lastEventId);
    const trace = this.#trace();
    const now = events.number;
    if (last !== undefined && last <= now && remembersSince(trace, last)) {
      this.#linesSeen = countOf(trace) - newLines(trace, last).length;
      return this.#renderNew(last, [{ number: now, value: this.#execution as SkillExecution<unknown> }]);
    }
    this.#sent = now;
    this.#linesSeen = countOf(trace);
    const state = {
      execution: this.#shown(this.#execution as SkillExecution<unknown>),
      progress: trace?.progress?.value ?? null,
      log: (trace?.lines ?? []).map(({ value }) => value),
    };
    return this.#render("state", now, state);
  }

  #renderNew(after: number, changes: readonly StatusChange[]): string {
    const trace = this.#trace();
    const lines = newLines(trace, after);
    const missed = Math.max(0, countOf(trace) - this.#linesSeen - lines.length);
    const noted: Noted[] = [
      ...(missed === 0 ? [] : [{ type: "gap" as const, number: after, data: { lines: missed } }]),
      ...newProgress(trace, after),
      ...lines.map(({ number, value }) => ({ type: value.kind, number, data: value })),
      ...changes.map(({ number, value }) => ({ type: "status" as const, number, data: this.#shown(value) })),
    ];
    noted.sort((a, b) => a.number - b.number);
    this.#sent = noted.at(-1)?.number ?? after;
    this.#linesSeen = countOf(trace);
    return noted.map(({ type, number, data }) => this.#render(type, number, data)).join("");
  }

  #render(type: string, number: number, data: unknown): string {
    return renderEvent(type, data, renderEventId(this.#options.executor.events.id, number));
  }

  #shown(execution: SkillExecution<unknown>): SkillExecution<unknown> {
    return this.#options.show(execution);
  }

  #trace(): ExecutionTrace | undefined {
    const trace = this.#options.executor.events.trace(this.#options.id);
    return trace === undefined || this.#options.withLines ? trace : { progress: trace.progress, lines: [], forgotten: 0 };
  }

  /** Of an execution in another process the row is known, and what queued work said as far as it is stored. */
  async #ask(): Promise<void> {
    const { executor, id } = this.#options;
    // A database that does not answer now will do so later.
    const execution = await executor.followExecution(id).catch(() => undefined);
    const known = this.#changes.at(-1)?.value ?? this.#execution;
    if (execution === undefined || execution.status === known?.status) return;
    this.#changes.push({ number: executor.events.number, value: execution });
    this.#wake();
  }
}

function newProgress(trace: ExecutionTrace | undefined, after: number): Noted[] {
  const progress: Numbered<ExecutionProgress> | undefined = trace?.progress;
  return progress !== undefined && progress.number > after
    ? [{ type: "progress", number: progress.number, data: progress.value }]
    : [];
}

function newLines(trace: ExecutionTrace | undefined, after: number): readonly Numbered<ExecutionLine>[] {
  return (trace?.lines ?? []).filter(({ number }) => number > after);
}

function countOf(trace: ExecutionTrace | undefined): number {
  return trace === undefined ? 0 : trace.forgotten + trace.lines.length;
}

/** Whether every line after an event is still there. */
function remembersSince(trace: ExecutionTrace | undefined, last: number): boolean {
  return trace === undefined || trace.forgotten === 0 || (trace.lines[0]?.number ?? 0) <= last;
}
