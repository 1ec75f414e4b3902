/** `status -w`: follows one object, reports when the hub is silent, and connects again. */
import { type KubeObject, Reflector } from "../../../kube/index.ts";
import { type Clock, silentLog, timestamp } from "../../../runtime/index.ts";
import { CommandError, explain } from "../../errors.ts";
import { type Hub, STATEFULSETS, withHub } from "../../hub/hub.ts";
import { statusOf } from "../../hub/status.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io, Output } from "../../terminal/io.ts";
import { duration, print, type Style, styleOf } from "../../terminal/output.ts";
import { Screen } from "../../terminal/screen.ts";
import { wrapped } from "../../terminal/wrap.ts";
import { fittingTree, statusTree } from "./view.ts";

/** The screen is drawn at most this often, regardless of the number of events. */
const REDRAW_MS = 100;
/** Ages on the screen are redrawn even if nothing changed. */
const AGES_MS = 1_000;
/** A watch may stall unnoticed; a small request shows whether the hub answers. */
const HEARTBEAT_MS = 5_000;
const HEARTBEAT_TIMEOUT_MS = 5_000;
/** After this long without an answer the kubeconfig is read again: 'up' has another port every time it starts. */
const RECONNECT_MS = 5_000;

export interface Watched {
  readonly namespace: string;
  readonly name: string;
  readonly server: string;
}

/** Redrawn in place on a terminal; when piped, the tree again after every change, or one JSON object per line. */
export async function watchStatus(io: Io, options: GlobalOptions, watched: Watched, json: boolean): Promise<undefined> {
  const stop = new AbortController();
  const interrupted = io.interrupted();
  const end = () => stop.abort(interrupted.reason);
  interrupted.addEventListener("abort", end, { once: true });
  if (interrupted.aborted) end();
  const watch = new StatusWatch(io, await io.clock(), watched, json);
  watch.open();
  try {
    while (!stop.signal.aborted) await watch.session(options, stop.signal);
  } finally {
    watch.close();
  }
  return undefined;
}

class StatusWatch {
  readonly #io: Io;
  readonly #clock: Clock;
  readonly #watched: Watched;
  readonly #json: boolean;
  readonly #style: Style;
  /** Undefined if nothing is redrawn: piped, or for programs. */
  readonly #screen: Screen | undefined;
  #server: string;
  #object: KubeObject | undefined;
  #heardMs: number;
  #heardAtMs: number;
  /** Why the hub is silent. */
  #failure: string | undefined;
  #shown = "";
  #isSilenceTold = false;

  constructor(io: Io, clock: Clock, watched: Watched, json: boolean) {
    this.#io = io;
    this.#clock = clock;
    this.#watched = watched;
    this.#json = json;
    this.#style = styleOf(io);
    this.#screen = io.stdout.isTerminal && !json ? new Screen(io.stdout) : undefined;
    this.#server = watched.server;
    this.#heardMs = clock.monotonicMs();
    this.#heardAtMs = clock.now();
  }

  open(): void {
    this.#screen?.open();
  }

  /** The last picture stays, below what was on the screen before. */
  close(): void {
    const tree = this.#object ? this.#tree(this.#object) : [];
    this.#screen?.close([...this.#silence(), ...tree]);
  }

  /** One connection, as long as it delivers something. */
  async session(options: GlobalOptions, stop: AbortSignal): Promise<void> {
    const done = new AbortController();
    const end = () => done.abort(stop.reason);
    stop.addEventListener("abort", end, { once: true });
    try {
      await withHub({ ...this.#io, stderr: MUTE }, options, (hub) => this.#follow(hub, done));
    } catch (error) {
      if (stop.aborted) return;
      if (error instanceof CommandError) throw error;
      this.#failure = explain(error);
      this.#show();
      await this.#clock.sleep(AGES_MS, stop).catch(() => {});
    } finally {
      stop.removeEventListener("abort", end);
      done.abort(new Error("another connection is tried"));
    }
  }

  async #follow(hub: Hub, done: AbortController): Promise<void> {
    const { client, clock, random, server } = hub;
    const { namespace, name } = this.#watched;
    this.#server = server;
    const objects = new Reflector<KubeObject>({
      client,
      resource: STATEFULSETS,
      clock,
      random,
      log: silentLog,
      selection: { namespace, fieldSelector: `metadata.name=${name}` },
      selects: ({ metadata }) => metadata.name === name,
    });
    const startedMs = clock.monotonicMs();
    const heartbeat = new Heartbeat(hub, this.#watched);
    const running = [objects.run(done.signal), heartbeat.run(done.signal)];
    let isKnown = false;
    let sinceDrawnMs = AGES_MS;
    try {
      while (!done.signal.aborted) {
        const { hasSynced, failure, lastHeardMs = startedMs } = objects.health;
        const trouble = failure === undefined ? heartbeat.failure : withoutRequest(failure);
        if (trouble === undefined && hasSynced) this.#heard(Math.max(lastHeardMs, heartbeat.heardMs));
        else this.#failure = trouble ?? this.#failure;
        const object = hasSynced ? objects.cache.get({ namespace, name }) : undefined;
        if (isKnown && !object) {
          throw new CommandError(`CrossClusterStatefulset ${namespace}/${name} has been deleted`);
        }
        isKnown = object !== undefined;
        if (hasSynced && !object) this.#failure = `CrossClusterStatefulset ${namespace}/${name} does not exist there`;
        const isNew = object !== undefined && object !== this.#object;
        this.#object = object ?? this.#object;
        if (isNew || sinceDrawnMs >= AGES_MS) {
          this.#show();
          sinceDrawnMs = 0;
        }
        const quietMs = clock.monotonicMs() - Math.max(this.#heardMs, startedMs);
        if (this.#failure !== undefined && quietMs >= RECONNECT_MS) return;
        await clock.sleep(REDRAW_MS, done.signal);
        sinceDrawnMs += REDRAW_MS;
      }
    } finally {
      done.abort(new Error("the connection is closed"));
      await Promise.all(running);
    }
  }

  #heard(atMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    this.#heardMs = atMs;
    this.#heardAtMs = this.#clock.now() - (nowMs - atMs);
    this.#failure = undefined;
  }

  #show(): void {
    this.#tellSilence();
    const object = this.#object;
    if (this.#json) {
      const text = object ? JSON.stringify(object) : "";
      if (text !== this.#shown) print(this.#io, text);
      this.#shown = text;
    } else if (this.#screen) this.#screen.draw(this.#picture(object));
    else {
      const text = object ? this.#tree(object).join("\n") : "";
      if (text !== this.#shown) print(this.#io, `${text}\n\n`);
      this.#shown = text;
    }
  }

  /** Fits the size of the screen. */
  #picture(object: KubeObject | undefined): string[] {
    const { rows, columns } = this.#io.stdout;
    const above = this.#silence().flatMap((line) => wrapped(line, columns));
    const room = { rows: Math.max(1, rows - 1 - above.length), columns };
    const view = object && { object, status: statusOf(object) };
    const tree = view ? fittingTree(view, this.#style, this.#clock.now(), room) : [];
    return [...above, ...tree];
  }

  #tree(object: KubeObject): string[] {
    return statusTree({ object, status: statusOf(object) }, this.#style, this.#clock.now());
  }

  /** Above the picture, which is as old as the last answer. */
  #silence(): string[] {
    if (this.#failure === undefined) return [];
    const since = timestamp(this.#heardAtMs);
    const age = duration(this.#clock.monotonicMs() - this.#heardMs);
    return [
      `${this.#style.bad("No answer")} from ${this.#server} since ${since} (${age}): ${this.#failure}`,
      "This is the state at that time. Reconnecting.",
      "",
    ];
  }

  /** If nothing is redrawn: once when it starts, and once when it ends. */
  #tellSilence(): void {
    const isSilent = this.#failure !== undefined;
    if (this.#screen || isSilent === this.#isSilenceTold) return;
    const told = isSilent ? this.#silence().slice(0, -1) : [`Connected again to ${this.#server}.`];
    this.#isSilenceTold = isSilent;
    this.#io.stderr.write(`${told.join("\n")}\n`);
  }
}

/** The error, without the request. */
function withoutRequest(failure: string): string {
  return failure.replace(/^[A-Z]+ .*?\(\/\S*\): /, "");
}

/** Sends the hub a small request from time to time. */
class Heartbeat {
  readonly #hub: Hub;
  readonly #watched: Watched;
  heardMs: number;
  failure: string | undefined;

  constructor(hub: Hub, watched: Watched) {
    this.#hub = hub;
    this.#watched = watched;
    this.heardMs = hub.clock.monotonicMs();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#hub;
    const { namespace, name } = this.#watched;
    while (!signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await client.find(
          STATEFULSETS,
          { namespace, name },
          { timeoutMs: HEARTBEAT_TIMEOUT_MS, maxAttempts: 1, signal },
        );
        this.heardMs = clock.monotonicMs();
        this.failure = undefined;
      } catch (error) {
        this.failure = error instanceof Error ? withoutRequest(error.message) : String(error);
      }
    }
  }
}

/** Messages of connecting on standard error would be written into the picture. */
const MUTE: Output = { isTerminal: false, columns: 80, rows: 24, write: () => {} };
