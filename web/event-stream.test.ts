import fc from "fast-check";
import { expect, it } from "vitest";
import { eventsIn, type StreamEvent } from "./event-stream.ts";

const SENT: readonly StreamEvent[] = [
  { event: "beat", data: "{}" },
  { event: "trouble", data: JSON.stringify({ message: "a: b\n\nevent: beat\ndata: é 🎉" }) },
  { event: "overview", data: JSON.stringify({ applications: ["x".repeat(50)] }) },
];
const WIRE = new TextEncoder().encode(
  `retry: 2000\n\n${SENT.map(({ event, data }, index) => `id: ${index}\nevent: ${event}\ndata: ${data}\n\n`).join("")}`,
);

async function read(bytes: Uint8Array, cuts: readonly number[]): Promise<StreamEvent[]> {
  const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  const chunks = edges.slice(1).map((end, index) => bytes.slice(edges[index], end));
  const found: StreamEvent[] = [];
  const reader = {
    read: async () => {
      const value = chunks.shift();
      return { done: value === undefined, value };
    },
  };
  for await (const event of eventsIn(reader)) found.push(event);
  return found;
}

it("events are the same however the connection cuts them into pieces, also inside a character", async () => {
  const cuts = fc.array(fc.nat(WIRE.length), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(cuts, async (at) => {
      expect(await read(WIRE, at)).toEqual(SENT);
    }),
  );
  // Empty pieces, also between the two ends of line that end an event.
  const everyEdgeTwice = Array.from({ length: 2 * WIRE.length }, (_, index) => Math.floor(index / 2));
  expect(await read(WIRE, everyEdgeTwice)).toEqual(SENT);
  const everyByte = Array.from({ length: WIRE.length }, (_, index) => index);
  expect(await read(WIRE, everyByte)).toEqual(SENT);
});

it("an event that the connection has left unfinished is no event", async () => {
  expect(await read(WIRE.slice(0, -1), [])).toEqual(SENT.slice(0, -1));
});
