import { DEFAULT_SYSTEM_NAMESPACE } from "../../api/index.ts";
import { type ManagerOptions, runManager } from "../../controllers/index.ts";
import {
  type Engine,
  KarmadaEngine,
  type KarmadaEngineOptions,
  OcmEngine,
  type OcmEngineOptions,
} from "../../engine/index.ts";
import { KubeClient } from "../../kube/index.ts";
import { type Log, lineLog, silentLog } from "../../runtime/index.ts";
import type { Reach } from "../seed/reach.ts";
import { ListMemory } from "../world/list-memory.ts";
import { type Backend, briefly, type Weather, Wire } from "../world/wire.ts";
import type { World } from "../world/world.ts";
import { SimProcess } from "./process.ts";

/** What a test may replace inside the controller, to check that the properties notice. */
export interface ControllerSeams {
  readonly engine?: (options: KarmadaEngineOptions) => Engine;
  readonly ocmEngine?: (options: OcmEngineOptions) => Engine;
  readonly runManager?: (options: ManagerOptions, signal: AbortSignal) => Promise<void>;
}

export interface ControllersOptions {
  readonly world: World;
  readonly backend: Backend;
  readonly weatherOf: (process: SimProcess) => Weather;
  readonly carrying: (process: SimProcess | undefined) => void;
  readonly paused: (process: SimProcess, forMs: number) => void;
  readonly lists: ListMemory;
  readonly reach: Reach;
  /** A member's own API server, on OCM; absent: the engine is Karmada, which leads to members itself. */
  readonly door?: (cluster: string) => Backend;
  readonly seams: ControllerSeams;
  /** The maximum size of the topology as an annotation; undefined: as in production. */
  readonly topologyInlineBytes: number | undefined;
  /** The controller's own log lines go into the transcript. */
  readonly logs: boolean;
}

/** How long the platform takes to start a process again, in milliseconds. */
const RESTART_MS: readonly [number, number] = [300, 8_000];

/** The controller processes: started, killed, paused, and restarted under another name. */
export class Controllers {
  readonly #options: ControllersOptions;
  readonly #running = new Map<SimProcess, Wire[]>();
  #started = 0;
  #version = 1;

  constructor(options: ControllersOptions) {
    this.#options = options;
  }

  get processes(): SimProcess[] {
    return [...this.#running.keys()];
  }

  start(): SimProcess {
    const { world, seams, topologyInlineBytes } = this.#options;
    const version = this.#version === 1 ? "" : `-v${this.#version}`;
    const process = new SimProcess(world, `controller-${++this.#started}${version}`);
    const weather = this.#options.weatherOf(process);
    const wire = this.#wire(process, this.#options.backend, weather, this.#options.lists);
    this.#running.set(process, [wire]);
    world.note(process.name, "starts");
    const { clock, random } = process;
    const log = this.#log(process);
    const hub = new KubeClient({ transport: wire, clock, random, log });
    const run = seams.runManager ?? runManager;
    run(
      {
        hub,
        clock,
        random,
        log,
        engine: () => this.#engine(process, { hub, clock, random, log }, weather),
        webhookTransports: () => {
          throw new Error("no webhook is configured in the simulated world");
        },
        systemNamespace: DEFAULT_SYSTEM_NAMESPACE,
        identity: process.name,
        onLeading: () => world.note(process.name, "leads"),
        ...(topologyInlineBytes !== undefined && { topologyInlineBytes }),
      },
      new AbortController().signal,
    ).catch((error: unknown) => {
      world.violated("stopped from outside", `${process.name} ended: ${error instanceof Error ? error.stack : error}`);
    });
    return process;
  }

  #engine(process: SimProcess, options: KarmadaEngineOptions, weather: Weather): Engine {
    const { seams, door, reach } = this.#options;
    if (!door) return seams.engine?.(options) ?? new KarmadaEngine(options);
    const openMember: OcmEngineOptions["openMember"] = async ({ server }) => {
      const transport = this.#wire(process, door(new URL(server).hostname), weather, new ListMemory(reach));
      this.#running.get(process)?.push(transport);
      return { transport, close: async () => {} };
    };
    return seams.ocmEngine?.({ ...options, openMember }) ?? new OcmEngine({ ...options, openMember });
  }

  #wire(process: SimProcess, backend: Backend, weather: Weather, lists: ListMemory): Wire {
    const { world, carrying } = this.#options;
    return new Wire({
      ...{ world, process, backend, weather, carrying, lists },
      paused: (paused, forMs) => this.#options.paused(paused, forMs),
      crashed: (crashed, point, request) => this.#crash(crashed, `${point}: ${briefly(request)}`),
    });
  }

  /** Every process is replaced by one of another version, as in an upgrade: all the old ones end first. */
  upgrade(): void {
    for (const process of this.processes) {
      process.kill();
      this.#running.delete(process);
    }
    this.#version++;
    this.start();
  }

  /** Breaks every watch of every process; returns how many there were. */
  dropWatches(): number {
    const wires = [...this.#running.values()].flat();
    return wires.reduce((sum, wire) => sum + wire.dropStreams("the connection was reset"), 0);
  }

  #crash(process: SimProcess, why: string): void {
    const { world } = this.#options;
    if (!process.isAlive) return;
    world.note(process.name, "DIES", () => why);
    process.kill();
    this.#running.delete(process);
    world.after(world.dice.branch(process.name).whole(...RESTART_MS), "restart", () => this.start());
  }

  #log(process: SimProcess): Log {
    if (!this.#options.logs) return silentLog;
    return lineLog((level, message, fields) => {
      if (level === "debug" || !process.isAlive) return;
      this.#options.world.noteQuietly(process.name, () => `${level}: ${message} ${JSON.stringify(fields)}`);
    });
  }
}
