import type { StatsBucket } from "../api/types.js";

const formats = {
  minute: new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" }),
  hour: new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }),
  // Days begin at midnight UTC.
  day: new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" }),
} as const satisfies Record<StatsBucket, Intl.DateTimeFormat>;

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** A place on the axis of time: the day at midnight, else the time of the day. */
export function axisLabel(at: Date): string {
  return at.getHours() === 0 && at.getMinutes() === 0 ? day.format(at) : clock.format(at);
}

/** When a bucket of time begins, as exactly as its length needs. */
export function bucketLabel(at: string, bucket: StatsBucket): string {
  return formats[bucket].format(new Date(at));
}
