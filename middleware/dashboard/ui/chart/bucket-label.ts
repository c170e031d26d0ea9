import type { StatsBucket } from "../api/types.js";

const formats = {
  minute: new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" }),
  hour: new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }),
  // Days begin at midnight UTC.
  day: new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" }),
} as const satisfies Record<StatsBucket, Intl.DateTimeFormat>;

/** When a bucket of time begins, as exactly as its length needs. */
export function bucketLabel(at: string, bucket: StatsBucket): string {
  return formats[bucket].format(new Date(at));
}
