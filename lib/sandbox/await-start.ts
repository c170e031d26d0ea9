import { inspectContainer } from "./container-state.js";
import type { Engine } from "./engine-table.js";
import { type EventListener, type Events, watchPidFile } from "./start-evidence.js";

/** What is known of a container whose start is awaited. */
export interface Launched {
  readonly engine: Engine;
  readonly name: string;
  readonly pidFile: string | null;
  readonly events: Events;
}

/** When nothing told of the start by then, the engine is asked. */
const askAfterMs = 1500;

/**
 * Tells when a container's program has started, and what else the engine tells of it, until `life` ends. `isStarted`: whether something else,
 * such as its output, has told so.
 */
export function awaitStart(launched: Launched, life: AbortSignal, listener: EventListener, isStarted: () => boolean): void {
  const stopListening = listen(launched, listener);
  // Evidence of the start can be lost (a broken stream of events, a remote engine): then the engine is asked now and then.
  const ask = async () => {
    if (life.aborted || isStarted()) return;
    const inspection = await inspectContainer(launched.engine, launched.name);
    if ("state" in inspection && inspection.state.started) listener.onStart();
    else if (!life.aborted && !isStarted()) schedule();
  };
  let timer: NodeJS.Timeout;
  const schedule = () => {
    timer = setTimeout(() => void ask(), askAfterMs).unref();
  };
  schedule();
  const stop = () => {
    stopListening();
    clearTimeout(timer);
  };
  life.addEventListener("abort", stop, { once: true });
}

function listen({ engine, name, pidFile, events }: Launched, listener: EventListener): () => void {
  if (engine.traits.startEvidence === "events") return events.listen(engine, name, listener);
  return pidFile === null ? () => {} : watchPidFile(pidFile, listener.onStart);
}
