import { randomFillSync } from "node:crypto";

const POOL_BYTES = 4096;
const RANDOM_BYTES = 8;
const MAX_COUNTER = 0xfff;

/**
 * Makes a source of UUIDv7 (RFC 9562): 48 bits of time in milliseconds, a 12-bit counter within the millisecond (method 1 of section
 * 6.2), 62 random bits. Ids of one source sort in the order they were made, also when the clock steps back.
 */
export function createIdSource(): () => string {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  let lastMs = 0;
  let counter = 0;

  return () => {
    const nowMs = Date.now();
    if (nowMs > lastMs) [lastMs, counter] = [nowMs, 0];
    else if (counter < MAX_COUNTER) counter++;
    else [lastMs, counter] = [lastMs + 1, 0];

    if (used + RANDOM_BYTES > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const random = pool.toString("hex", used, used + RANDOM_BYTES);
    const variant = "89ab"[(pool[used] ?? 0) & 3];
    used += RANDOM_BYTES;

    const time = lastMs.toString(16).padStart(12, "0");
    const sequence = counter.toString(16).padStart(3, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
  };
}
