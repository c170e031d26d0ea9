import { open } from "./client.js";
import { Problem } from "./problem.js";

export interface ServerEvent {
  readonly type: string;
  readonly data: unknown;
}

export type FeedState = "connecting" | "live" | "polling" | "ended";

export interface FeedOptions {
  /** An address below `api/` that answers with an event stream. */
  readonly path: string;
  onEvent(event: ServerEvent): void;
  onState(state: FeedState): void;
  /** Called every few seconds while there is no stream. */
  onPoll(): void;
  /** Whether the stream may be over for good when the server ends it. */
  readonly isOver?: () => boolean;
}

const POLL_EVERY_MS = 4_000;
const RECONNECT_AFTER_MS = 1_000;

/**
 * Follows a stream of Server-Sent Events, connects again with the id of the last event, and polls while that fails. `EventSource` cannot
 * send the header that a token needs. Returns what ends it.
 */
export function follow(options: FeedOptions): () => void {
  const ending = new AbortController();
  void keepFollowing(options, ending.signal);
  return () => ending.abort();
}

async function keepFollowing(options: FeedOptions, signal: AbortSignal): Promise<void> {
  let lastEventId: string | undefined;
  options.onState("connecting");
  while (!signal.aborted) {
    try {
      for await (const event of readStream(options, signal, lastEventId)) {
        if (event.id !== undefined) lastEventId = event.id;
        options.onEvent(event);
      }
      if (options.isOver?.() === true) return options.onState("ended");
      await pause(RECONNECT_AFTER_MS, signal);
      if (!signal.aborted) options.onPoll();
    } catch (error) {
      if (signal.aborted || isFinal(error)) return;
      options.onState("polling");
      options.onPoll();
      await pause(POLL_EVERY_MS, signal);
      if (options.isOver?.() === true) return options.onState("ended");
    }
  }
}

interface StreamEvent extends ServerEvent {
  readonly id: string | undefined;
}

async function* readStream(options: FeedOptions, signal: AbortSignal, lastEventId?: string): AsyncGenerator<StreamEvent> {
  const headers = { Accept: "text/event-stream", ...(lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId }) };
  const response = await open(`api/${options.path}`, { headers, signal });
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream") || response.body === null) throw new Error("The answer is no event stream.");
  options.onState("live");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting = (waiting + value).replaceAll("\r\n", "\n");
    for (let end = waiting.indexOf("\n\n"); end !== -1; end = waiting.indexOf("\n\n")) {
      const event = parseEvent(waiting.slice(0, end));
      waiting = waiting.slice(end + 2);
      if (event !== undefined) yield event;
    }
  }
}

/** As the HTML standard says, section "Interpreting an event stream"; comments, such as heartbeats, give nothing. */
function parseEvent(block: string): StreamEvent | undefined {
  let type = "message";
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, field, value = ""] = /^([^:]+)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === "event") type = value;
    else if (field === "id") id = value;
    else if (field === "data") data.push(value);
  }
  return data.length === 0 ? undefined : { type, id, data: parseJson(data.join("\n")) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Asking again for what is refused, or is not there, would get the same answer. */
function isFinal(error: unknown): boolean {
  return error instanceof Problem && [401, 403, 404].includes(error.status);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
