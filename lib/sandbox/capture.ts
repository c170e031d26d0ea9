/** One output stream of a container: counted as it comes, kept up to a limit, decoded once. */
export interface Capture {
  push(chunk: Buffer): void;
  /** Forgets everything so far. */
  clear(): void;
  readonly totalBytes: number;
  readonly truncated: boolean;
  /** The first bytes as text. A character that the limit cut in two is left out; invalid UTF-8 becomes U+FFFD. */
  text(): string;
  /** The last bytes as text, at most 4 KiB. */
  tail(): string;
  /** The first line without its end, once it is complete; `null` before. */
  firstLine(): string | null;
}

const tailBytes = 4096;

/** `onOverflow` is called once, when the stream exceeds `limitBytes`. */
export function createCapture(limitBytes: number, onOverflow: () => void): Capture {
  let chunks: Buffer[] = [];
  let keptBytes = 0;
  let totalBytes = 0;
  let tail: Buffer = Buffer.alloc(0);
  let lineEnd = -1;

  const keep = (chunk: Buffer) => {
    const room = limitBytes - keptBytes;
    if (room <= 0) return;
    const kept = chunk.length > room ? chunk.subarray(0, room) : chunk;
    if (lineEnd === -1) {
      const found = kept.indexOf(10);
      if (found !== -1) lineEnd = keptBytes + found;
    }
    chunks.push(kept);
    keptBytes += kept.length;
  };

  return {
    push(chunk) {
      const before = totalBytes;
      totalBytes += chunk.length;
      keep(chunk);
      if (before <= limitBytes && totalBytes > limitBytes) onOverflow();
      if (totalBytes > limitBytes) {
        const last = chunk.length >= tailBytes ? chunk.subarray(-tailBytes) : Buffer.concat([tail, chunk]).subarray(-tailBytes);
        // A copy, so that the chunk's memory is free.
        tail = Buffer.from(last);
      }
    },
    clear() {
      chunks = [];
      keptBytes = 0;
      totalBytes = 0;
      tail = Buffer.alloc(0);
      lineEnd = -1;
    },
    get totalBytes() {
      return totalBytes;
    },
    get truncated() {
      return totalBytes > keptBytes;
    },
    text() {
      const bytes = Buffer.concat(chunks);
      return decode(totalBytes > keptBytes ? bytes.subarray(0, wholeCharacters(bytes)) : bytes);
    },
    tail() {
      return totalBytes > limitBytes ? decode(tail) : decode(Buffer.concat(chunks).subarray(-tailBytes));
    },
    firstLine() {
      if (lineEnd === -1) return null;
      return decode(Buffer.concat(chunks).subarray(0, lineEnd)).replace(/\r$/, "");
    },
  };
}

function decode(bytes: Uint8Array): string {
  // A byte order mark is the program's own output.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** How many bytes are left when an incomplete UTF-8 sequence at the end is dropped (RFC 3629: at most 4 bytes). */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
