import type { IncomingMessage, ServerResponse } from "node:http";
import { SkillError } from "../../../lib/index.js";
import { isClosed } from "../../response-signal.js";
import type { StreamSource } from "./stream.js";

const HEARTBEAT_MS = 15_000;
/** What happens within this time is sent together. */
const GATHER_MS = 50;
/** Whoever leaves more than this unread is too slow. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** Then the client connects again, and is authorised again. */
const MAX_AGE_MS = 60 * 60_000;
const RECONNECT_MS = 2_000;
const BUSY_RETRY_AFTER_MS = 5_000;

const HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  // Compression would hold events back until its buffer is full.
  "Cache-Control": "no-cache, no-transform",
  "X-Content-Type-Options": "nosniff",
  // The same for nginx.
  "X-Accel-Buffering": "no",
} as const;

/** The open event streams of one API. Each holds one response; one timer serves them all. */
export class Streams {
  readonly #maxOpen: number;
  readonly #open = new Set<OpenStream>();
  #opening = 0;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(maxOpen: number) {
    this.#maxOpen = maxOpen;
  }

  /**
   * Answers with a stream that lasts until its source ends it, the client leaves or reads too slowly, or an hour has passed.
   * @throws STREAM_LIMIT, what `openSource` throws: before anything is sent
   */
  async open(
    request: IncomingMessage,
    response: ServerResponse,
    openSource: (wake: () => void) => Promise<StreamSource>,
  ): Promise<void> {
    if (this.#open.size + this.#opening >= this.#maxOpen) {
      const message = `${this.#maxOpen} event streams are open, as many as there may be; close one, or try again later.`;
      throw new SkillError("STREAM_LIMIT", message, { retryAfterMs: BUSY_RETRY_AFTER_MS });
    }
    const stream = new OpenStream(response, (ended) => this.#forget(ended));
    this.#opening++;
    try {
      stream.start(await openSource(() => stream.wake()), request.method === "HEAD");
    } finally {
      this.#opening--;
    }
    if (stream.isOver) return;
    this.#open.add(stream);
    this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref();
  }

  #beat(): void {
    for (const stream of this.#open) stream.beat();
  }

  #forget(stream: OpenStream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) return;
    clearInterval(this.#heartbeat);
    this.#heartbeat = undefined;
  }
}

class OpenStream {
  readonly #response: ServerResponse & { flush?: unknown };
  readonly #onEnd: (stream: OpenStream) => void;
  readonly #startedAtMs = performance.now();
  #source: StreamSource | undefined;
  #timer: NodeJS.Timeout | undefined;
  isOver = false;

  constructor(response: ServerResponse, onEnd: (stream: OpenStream) => void) {
    this.#response = response;
    this.#onEnd = onEnd;
  }

  start(source: StreamSource, headersOnly: boolean): void {
    this.#source = source;
    const response = this.#response;
    if (isClosed(response)) {
      this.#end();
      return;
    }
    response.once("close", () => this.#end());
    // A socket that breaks while it is written to: `close` follows.
    response.on("error", () => {});
    response.writeHead(200, HEADERS);
    if (headersOnly) {
      response.end();
      this.#end();
      return;
    }
    response.write(`retry: ${RECONNECT_MS}\n\n`);
    this.#send();
  }

  /** There is more to send. */
  wake(): void {
    if (this.isOver || this.#source === undefined) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#send();
    }, GATHER_MS);
  }

  beat(): void {
    if (performance.now() - this.#startedAtMs > MAX_AGE_MS) {
      this.#response.end();
      this.#end();
    } else this.#write(":\n\n");
  }

  #send(): void {
    const { text, isLast } = this.#source?.read() ?? { text: "", isLast: true };
    if (text !== "") this.#write(text);
    if (!isLast || this.isOver) return;
    this.#response.end();
    this.#end();
  }

  #write(text: string): void {
    if (this.#response.writableLength > MAX_UNREAD_BYTES) {
      this.#response.destroy();
      this.#end();
      return;
    }
    this.#response.write(text);
    // Given by compression, for applications that compress whatever the headers say.
    if (typeof this.#response.flush === "function") this.#response.flush();
  }

  #end(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.#timer);
    this.#source?.stop();
    this.#onEnd(this);
  }
}
