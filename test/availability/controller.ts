import { runManager } from "../../src/controllers/index.ts";
import type { EmbeddedFleet } from "../../src/embedded/index.ts";
import { KarmadaEngine } from "../../src/engine/index.ts";
import { KubeClient, resource } from "../../src/kube/index.ts";
import { type Log, type Random, systemClock, type Transport } from "../../src/runtime/index.ts";
import { crashingTransport } from "../stories/crashes.ts";

const SYSTEM_NAMESPACE = "lockstep-system";
const LEASES = resource({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
});

/** Lockstep's controller on the hub of a fleet: at most one at a time. */
export class Controller {
  readonly #fleet: EmbeddedFleet;
  readonly #random: Random;
  readonly #log: Log;
  #running: { end(): Promise<void> } | undefined;

  constructor(fleet: EmbeddedFleet, random: Random, log: Log) {
    this.#fleet = fleet;
    this.#random = random;
    this.#log = log;
  }

  start(): void {
    this.#run(this.#fleet.hub.transport());
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.end();
  }

  /** In place of the present one. It is killed right after so many writes, and never learns the last one's answer. */
  async startThatCrashes(afterWrites: number): Promise<{ crashed(): boolean }> {
    await this.stop();
    await this.#freeLease();
    const transport = crashingTransport(this.#fleet.hub.transport(), afterWrites);
    let isCrashed = false;
    void transport.crashed.then(() => {
      isCrashed = true;
    });
    this.#run(transport, () => transport.end());
    return { crashed: () => isCrashed };
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.#freeLease();
    this.start();
  }

  #run(transport: Transport, ending: () => void = () => {}): void {
    const [clock, random, log] = [systemClock, this.#random, this.#log];
    const hub = new KubeClient({ transport, clock, random });
    const stop = new AbortController();
    const running = runManager(
      {
        hub,
        clock,
        random,
        log,
        engine: () => new KarmadaEngine({ hub, clock, random, log }),
        webhookTransports: () => {
          throw new Error("no webhook is configured here");
        },
        systemNamespace: SYSTEM_NAMESPACE,
        identity: "test",
      },
      stop.signal,
    );
    this.#running = {
      end: async () => {
        ending();
        stop.abort(new Error("the test stops the controller"));
        await running;
      },
    };
  }

  /** A process that is gone releases nothing: here the time is not waited for after which another may take the lease. */
  async #freeLease(): Promise<void> {
    const hub = this.#fleet.client();
    const { items } = await hub.listAll(LEASES, { namespace: SYSTEM_NAMESPACE });
    for (const { metadata } of items) {
      const free = { type: "merge", body: { spec: { holderIdentity: "" } } } as const;
      await hub.patch(LEASES, { namespace: SYSTEM_NAMESPACE, name: metadata.name }, free);
    }
  }
}
