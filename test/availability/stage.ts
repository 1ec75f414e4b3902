import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Probe, type Verdict } from "./probe.ts";
import type { Figures } from "./record.ts";
import { windowOf } from "./ways.ts";
import { CLIENTS, EtcdWorld, type Version } from "./world.ts";

/** Who leads changes when it is asked to or dies, not because the machine is busy for a second. */
export const CALM = ["--heartbeat-interval=300", "--election-timeout=3000"];
export const CLUSTERS = ["member1", "member2", "member3", "member4"];
export const FIVE = { member1: 2, member2: 2, member3: 1 };

/** A world with a deployed etcd, and clients that never stop. */
export class Stage {
  readonly world = new EtcdWorld(CLUSTERS);
  readonly #folder = mkdtempSync(join(tmpdir(), "lockstep-record-"));
  #probe: Probe | undefined;

  /** Static: all five at once. */
  async set(
    version: Exclude<Version, "broken"> = "3.6",
    others: readonly Exclude<Version, "broken">[] = [],
  ): Promise<void> {
    await this.world.start([version, ...others]);
    this.world.startController();
    await this.world.deploy(FIVE, { version, args: CALM }, { podManagementPolicy: "Parallel" });
    await this.startClients();
  }

  async startClients(): Promise<void> {
    const { world } = this;
    const proxy = world.network.proxy(CLIENTS);
    this.#probe = await Probe.start({ endpoints: world.endpoints(), proxy, file: join(this.#folder, "record") });
    await sleep(1_000);
  }

  /** What clients see while the work is done. */
  async during(work: () => Promise<void>): Promise<Figures> {
    const window = await windowOf(async () => {
      await work();
      await sleep(500);
    });
    return this.probe.figures(window);
  }

  /** Clients learn the present members. */
  tellClients(): void {
    this.probe.setEndpoints(this.world.endpoints());
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
