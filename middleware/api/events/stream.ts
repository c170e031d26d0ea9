/** What a stream sends: asked for the text of what is new whenever it said that there is more. */
export interface StreamSource {
  /** Events in the form of Server-Sent Events (HTML standard), `""` when nothing is new; after the last one the stream ends. */
  read(): { readonly text: string; readonly isLast: boolean };
  stop(): void;
}

/** One event; `data` is sent as JSON, which has no line breaks. */
export function renderEvent(type: string, data: unknown, id?: string): string {
  return `event: ${type}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** The id of an event: which process and kit it came from, and its number there. */
export function renderEventId(sourceId: string, number: number): string {
  return `${sourceId}.${number}`;
}

/** The number in an id that this source gave; `undefined` for any other text. */
export function parseEventId(sourceId: string, text: string | undefined): number | undefined {
  if (text === undefined || !text.startsWith(`${sourceId}.`)) return undefined;
  const digits = text.slice(sourceId.length + 1);
  return /^[0-9]{1,15}$/.test(digits) ? Number(digits) : undefined;
}
