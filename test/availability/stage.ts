import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Probe, type Verdict } from "./probe.ts";
import { type Figures, figuresOf, type Window } from "./record.ts";
import { storyOf } from "./story.ts";
import { windowOf } from "./ways.ts";
import { CLIENTS, EtcdWorld, type Version } from "./world.ts";

/** Who leads changes when it is asked to or dies, not because the machine is busy for a second. */
export const ELECTION_MS = 3_000;
export const CALM = ["--heartbeat-interval=300", `--election-timeout=${ELECTION_MS}`];
export const CLUSTERS = ["member1", "member2", "member3", "member4"];
export const FIVE = { member1: 2, member2: 2, member3: 1 };

const BEFORE_MS = 3_000;

/** A world with a deployed etcd, and clients that never stop. */
export class Stage {
  readonly world = new EtcdWorld(CLUSTERS);
  readonly #folder = mkdtempSync(join(tmpdir(), "lockstep-record-"));
  #probe: Probe | undefined;
  #before: Window | undefined;
  #story: readonly string[] = [];

  /** Static: all five at once; `delayMs` one way between two clusters. */
  async set(
    version: Exclude<Version, "broken"> = "3.6",
    others: readonly Exclude<Version, "broken">[] = [],
    delayMs = 0,
  ): Promise<void> {
    await this.world.start([version, ...others]);
    if (delayMs > 0) await this.world.network.delayAll(delayMs);
    this.world.controller.start();
    await this.world.deploy(FIVE, { version, args: CALM }, { podManagementPolicy: "Parallel" });
    await this.startClients();
  }

  async startClients(): Promise<void> {
    const { world } = this;
    const proxy = world.network.proxy(CLIENTS);
    this.#probe = await Probe.start({ endpoints: world.endpoints(), proxy, file: join(this.#folder, "record") });
    // The first second opens connections.
    await sleep(1_000);
    this.#before = await windowOf(() => sleep(BEFORE_MS));
  }

  /** What clients saw before anything was done. */
  before(): Figures {
    if (!this.#before) throw new Error("no clients yet");
    return figuresOf(this.probe.record(), this.#before);
  }

  /** What clients see while the work is done. */
  async during(work: () => Promise<void>): Promise<Figures> {
    const window = await windowOf(async () => {
      await work();
      await sleep(500);
    });
    const record = this.probe.record();
    this.#story = storyOf(record, window);
    return figuresOf(record, window);
  }

  /** What failed in the last work, and what the members said meanwhile. */
  get story(): readonly string[] {
    return this.#story;
  }

  get probe(): Probe {
    if (!this.#probe) throw new Error("no clients yet");
    return this.#probe;
  }

  finish(): Promise<Verdict> {
    return this.probe.finish();
  }

  async strike(): Promise<void> {
    await this.#probe?.stop();
    await this.world.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
