import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";

export type Input = string | Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Sends the whole input and closes the stream. A program that does not read its input closes the pipe: that is its right. `onFault` is
 * told when the input itself breaks off, since the program would take what it got for the whole.
 */
export async function sendInput(stdin: Writable, input: Input, onFault: (error: unknown) => void): Promise<void> {
  let isUnderWay = true;
  const tell = (error: unknown) => {
    if (isUnderWay) onFault(error);
  };
  try {
    const source =
      typeof input === "string" ? piecesOfText(input) : input instanceof Uint8Array ? pieces(input) : watched(input, tell);
    await pipeline(Readable.from(source, { objectMode: false }), stdin);
  } catch {
    // What went wrong with the input was told, and nobody reads any more.
    stdin.destroy();
  } finally {
    isUnderWay = false;
  }
}

const pieceLength = 64 * 1024;

/** Views of the bytes: a copy of a large input would double it. */
function* pieces(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceLength) yield bytes.subarray(at, at + pieceLength);
}

function* piecesOfText(text: string): Generator<Uint8Array> {
  for (let at = 0; at < text.length; ) {
    let end = at + pieceLength;
    // The two halves of a character beyond U+FFFF stay together.
    if (isHighSurrogate(text.charCodeAt(end - 1))) end += 1;
    yield Buffer.from(text.slice(at, end));
    at = end;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** Not a generator: that one could not be ended while it waits for its source. */
function watched(source: AsyncIterable<Uint8Array>, onFault: (error: unknown) => void): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = startIterator(source, onFault);
      return {
        async next() {
          try {
            const step = await iterator.next();
            if (step.done !== true) checkPiece(step.value);
            return step;
          } catch (error) {
            onFault(error);
            throw error;
          }
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

function startIterator(source: AsyncIterable<Uint8Array>, onFault: (error: unknown) => void): AsyncIterator<Uint8Array> {
  try {
    return source[Symbol.asyncIterator]();
  } catch (error) {
    onFault(error);
    throw error;
  }
}

function checkPiece(piece: unknown): void {
  // A stream with an encoding gives texts.
  if (typeof piece !== "string" && !(piece instanceof Uint8Array))
    throw new TypeError(`it gave ${piece === null ? "null" : `a ${typeof piece}`} where bytes must be`);
}
