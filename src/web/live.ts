/**
 * One live stream of server-sent events. A slow reader gets the newest snapshot, never a backlog. An overview is sent
 * once; after it only what differs from what this reader has.
 */
import type { ServerResponse } from "node:http";
import type { Clock } from "../runtime/index.ts";
import { changesOf } from "./changes.ts";
import type { LiveEvent, OverviewChanges, OverviewView } from "./types.ts";

/** The page says that it has lost the connection after two and a half of them. */
const BEAT_MS = 4_000;
/** The page tries again by itself; this is for browsers that do it first. */
const RETRY_MS = 2_000;
/** A reader that accepts nothing for this long is gone. */
const STALL_BEATS = 8;

export class LiveStream {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  #number = 0;
  #isBlocked = false;
  #isInTrouble = false;
  #blockedBeats = 0;
  #newest: LiveEvent | undefined;
  #sentOverview: OverviewView | undefined;
  #cancelBeat: () => void = () => {};

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response;
    this.#clock = clock;
  }

  open(headers: Readonly<Record<string, string>>): void {
    const type = { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" };
    this.#response.writeHead(200, { ...headers, ...type });
    this.#response.write(`retry: ${RETRY_MS}\n\n`);
    this.#response.on("drain", () => this.#drained());
    this.#beat();
  }

  send(event: LiveEvent): void {
    if (this.#response.writableEnded || this.#response.destroyed) return;
    if (this.#isBlocked) {
      if (event.event !== "beat") this.#newest = event;
      return;
    }
    if (event.event === "overview") this.#sendOverview(event.data);
    else this.#write(event);
  }

  #sendOverview(data: OverviewView): void {
    const before = this.#sentOverview;
    const changes = before && changesOf(before, data);
    if (before && !changes) {
      // The hub answers again.
      if (this.#isInTrouble) this.#write({ event: "overview-changes", data: noChanges(before) });
      return;
    }
    this.#sentOverview = data;
    this.#write(changes ? { event: "overview-changes", data: changes } : { event: "overview", data });
  }

  #write(event: LiveEvent): void {
    if (event.event !== "beat") this.#isInTrouble = event.event === "trouble";
    this.#number += 1;
    const text = `id: ${this.#number}\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`;
    this.#isBlocked = !this.#response.write(text);
  }

  close(): void {
    this.#cancelBeat();
    this.#response.end();
  }

  #drained(): void {
    this.#isBlocked = false;
    this.#blockedBeats = 0;
    const newest = this.#newest;
    this.#newest = undefined;
    if (newest) this.send(newest);
  }

  #beat(): void {
    this.send({ event: "beat", data: { atMs: this.#clock.now() } });
    if (this.#isBlocked) this.#blockedBeats += 1;
    if (this.#blockedBeats > STALL_BEATS) this.#response.destroy();
    this.#cancelBeat = this.#clock.after(BEAT_MS, () => this.#beat());
  }
}

/** Ends a page's trouble. */
function noChanges({ atMs, mayDrain, problems }: OverviewView): OverviewChanges {
  const none = { applications: [], goneApplications: [], clusters: [], goneClusters: [] };
  return { baseMs: atMs, atMs, ...none, ...(mayDrain !== undefined && { mayDrain }), problems };
}
