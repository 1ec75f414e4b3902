import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { LiveStream } from "./live.ts";
import type { ApplicationRow, OverviewView } from "./types.ts";

/** A browser at the other end of the wire, which may stop to read. */
class Reader extends EventEmitter {
  readonly written: string[] = [];
  isFull = false;
  destroyed = false;
  writableEnded = false;

  writeHead(): this {
    return this;
  }

  write(text: string): boolean {
    this.written.push(text);
    return !this.isFull;
  }

  end(): void {
    this.writableEnded = true;
  }

  destroy(): void {
    this.destroyed = true;
  }

  /** What arrived, without beats. */
  events(): { event: string; data: { baseMs?: number; atMs: number; applications?: ApplicationRow[] } }[] {
    return this.written.flatMap((text) => {
      const [, event = "", data = ""] = /event: (.*)\ndata: (.*)\n/.exec(text) ?? [];
      return event === "" || event === "beat" ? [] : [{ event, data: JSON.parse(data) }];
    });
  }
}

function setUp() {
  const clock = new VirtualClock();
  const reader = new Reader();
  const stream = new LiveStream(reader as unknown as ServerResponse, clock);
  stream.open({});
  return { clock, reader, stream };
}

function row(name: string, ready: number): ApplicationRow {
  const base = {
    type: "ccs",
    namespace: "default",
    kind: "StatefulSet",
    phase: "Settled",
    needsPerson: false,
  } as const;
  return { ...base, name, ready, desired: 3, clusters: [] };
}

function overview(atMs: number, ...applications: ApplicationRow[]): OverviewView {
  return { atMs, applications, clusters: [], problems: [] };
}

describe("the overview on a live stream", () => {
  it("is sent whole once, then only what differs, and not at all if nothing does", () => {
    const { reader, stream } = setUp();
    stream.send({ event: "overview", data: overview(1, row("a", 3), row("b", 3)) });
    stream.send({ event: "overview", data: overview(2, row("a", 3), row("b", 3)) });
    stream.send({ event: "overview", data: overview(3, row("a", 2), row("b", 3)) });
    expect(reader.events()).toMatchObject([
      { event: "overview", data: { atMs: 1 } },
      { event: "overview-changes", data: { baseMs: 1, atMs: 3, applications: [{ name: "a", ready: 2 }] } },
    ]);
  });

  it("reaches a slow reader as one difference from what it has, never as a backlog", () => {
    const { reader, stream } = setUp();
    reader.isFull = true;
    stream.send({ event: "overview", data: overview(1, row("a", 3)) });
    for (let atMs = 2; atMs <= 50; atMs++) stream.send({ event: "overview", data: overview(atMs, row("a", atMs)) });
    expect(reader.events()).toHaveLength(1);
    reader.isFull = false;
    reader.emit("drain");
    expect(reader.events()).toMatchObject([
      { event: "overview" },
      { event: "overview-changes", data: { baseMs: 1, atMs: 50, applications: [{ ready: 50 }] } },
    ]);
  });

  it("ends the trouble that was said before, even if nothing else has changed", () => {
    const { reader, stream } = setUp();
    stream.send({ event: "overview", data: overview(1, row("a", 3)) });
    stream.send({ event: "trouble", data: { message: "the hub does not answer", gone: false } });
    stream.send({ event: "overview", data: overview(9, row("a", 3)) });
    expect(reader.events().map(({ event }) => event)).toEqual(["overview", "trouble", "overview-changes"]);
    expect(reader.events()[2]?.data).toMatchObject({ baseMs: 1, atMs: 1, applications: [] });
  });
});

describe("a live stream", () => {
  it("proves every four seconds that the connection works", async () => {
    const { clock, reader } = setUp();
    await clock.advance(12_500);
    expect(reader.written.filter((text) => text.includes("event: beat"))).toHaveLength(4);
  });

  it("drops a reader that accepts nothing for half a minute", async () => {
    const { clock, reader, stream } = setUp();
    reader.isFull = true;
    stream.send({ event: "overview", data: overview(1) });
    await clock.advance(20_000);
    expect(reader.destroyed).toBe(false);
    await clock.advance(20_000);
    expect(reader.destroyed).toBe(true);
  });
});
