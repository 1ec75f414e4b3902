/** Server-sent events, as our server writes them: an id, the event and one line of data. Pure. */

export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/** As of a ReadableStream. */
interface Chunks {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
}

/** Whole events only: what a connection leaves unfinished when it breaks is dropped. */
export async function* eventsIn(chunks: Chunks): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  // A large overview arrives in many pieces: each is looked at once.
  let pieces: string[] = [];
  for (;;) {
    const { done, value } = await chunks.read();
    if (done) return;
    const text = decoder.decode(value, { stream: true });
    // A piece of a connection may be empty, or end inside a character.
    if (text === "") continue;
    for (const part of text.split(/(?<=\n)/)) {
      pieces.push(part);
      if (part !== "\n" || !(pieces.at(-2) ?? "").endsWith("\n")) continue;
      const found = eventOf(pieces.join(""));
      pieces = [];
      if (found) yield found;
    }
  }
}

/** Undefined: it is no event for a page, such as the time to wait before a reconnect. */
function eventOf(text: string): StreamEvent | undefined {
  const fields = new Map(
    text.split("\n").map((line) => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)] as const;
    }),
  );
  const event = fields.get("event");
  const data = fields.get("data");
  return event === undefined || data === undefined ? undefined : { event, data };
}
