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
const firstCapacityBytes = 4096;

/** `onOverflow` is called once, when the stream exceeds `limitBytes`. */
export function createCapture(limitBytes: number, onOverflow: () => void): Capture {
  // One growing buffer: a program that writes byte by byte would make a list of chunks a hundred times as large as its bytes.
  let kept: Buffer = Buffer.alloc(0);
  let keptBytes = 0;
  let totalBytes = 0;
  let tail: Buffer = Buffer.alloc(0);
  let lineEnd = -1;

  const keep = (chunk: Buffer) => {
    const part = chunk.subarray(0, limitBytes - keptBytes);
    if (part.length === 0) return;
    const found = lineEnd === -1 ? part.indexOf(10) : -1;
    if (found !== -1) lineEnd = keptBytes + found;
    if (keptBytes + part.length > kept.length) {
      const capacity = Math.max(firstCapacityBytes, keptBytes + part.length, Math.min(limitBytes, kept.length * 2));
      const larger = Buffer.allocUnsafeSlow(capacity);
      kept.copy(larger, 0, 0, keptBytes);
      kept = larger;
    }
    part.copy(kept, keptBytes);
    keptBytes += part.length;
  };
  const bytes = () => kept.subarray(0, keptBytes);

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
      kept = Buffer.alloc(0);
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
      return decode(totalBytes > keptBytes ? bytes().subarray(0, wholeCharacters(bytes())) : bytes());
    },
    tail() {
      return totalBytes > limitBytes ? decode(tail) : decode(bytes().subarray(-tailBytes));
    },
    firstLine() {
      if (lineEnd === -1) return null;
      return decode(kept.subarray(0, lineEnd)).replace(/\r$/, "");
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
