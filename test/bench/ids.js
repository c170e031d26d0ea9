/**
 * As long and as sortable as a UUIDv7.
 * @param {number} time
 * @param {number} count
 */
export function idAt(time, count) {
  const hex = time.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${count.toString(16).padStart(12, "0")}`;
}
