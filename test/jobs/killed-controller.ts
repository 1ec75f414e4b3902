/** A controller in a process of its own that can be killed with -9 right after one of its writes was stored. */
import { type ControllerProcess, ControllerProcesses } from "../../bench/support/controller-process.ts";
import { type SecureFront, startSecureFront } from "../../src/apiserver/index.ts";
import type { EmbeddedFleet } from "../../src/embedded/index.ts";
import { resource } from "../../src/kube/index.ts";
import { systemClock } from "../../src/runtime/index.ts";

const LEASES = resource({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", plural: "leases", namespaced: true });
/** Neither is part of the work: renewals come by the clock, and Events are for people. */
const NOT_COUNTED = /\/(leases|events)(\/|$|\?)/;

type Backend = Parameters<typeof startSecureFront>[0]["server"];
type Request = Parameters<Backend["handle"]>[0];

export class KilledController {
  readonly #fleet: EmbeddedFleet;
  #processes: ControllerProcesses | undefined;
  #front: SecureFront | undefined;
  #controller: ControllerProcess | undefined;
  #left = Number.POSITIVE_INFINITY;
  #killed: Promise<void> | undefined;

  constructor(fleet: EmbeddedFleet) {
    this.#fleet = fleet;
  }

  get isKilled(): boolean {
    return this.#killed !== undefined;
  }

  /** The next one dies after so many writes from now on. */
  killAfter(writes: number): void {
    this.#left = writes;
  }

  async start(): Promise<void> {
    this.#processes ??= await this.#prepare();
    await this.#killed;
    this.#left = Number.POSITIVE_INFINITY;
    await this.#expireLease();
    this.#killed = undefined;
    this.#controller = await this.#processes.start();
  }

  async stop(): Promise<void> {
    await this.#killed;
    if (!this.isKilled) await this.#controller?.stop();
    this.#processes?.close();
    await this.#front?.close();
  }

  async #prepare(): Promise<ControllerProcesses> {
    const { hub } = this.#fleet;
    const server: Backend = {
      handle: async (request) => {
        const answer = await hub.handle(request);
        const isWrite = request.method !== "GET" && !NOT_COUNTED.test(request.path);
        if (isWrite && answer.status < 300 && --this.#left === 0) {
          // It gets no answer to a write that was stored.
          this.#killed = this.#controller?.kill();
          await this.#killed;
        }
        return answer;
      },
      stream: (request: Request) => hub.stream(request),
    };
    this.#front = await startSecureFront({ name: "hub", server, clock: systemClock });
    return ControllerProcesses.prepare(await this.#front.context());
  }

  /** As if its time had run out, so that the next leader need not wait for it. */
  async #expireLease(): Promise<void> {
    const client = this.#fleet.client();
    const { items } = await client.listAll(LEASES);
    for (const { metadata } of items) {
      await client.patch(LEASES, metadata, { type: "merge", body: { spec: { holderIdentity: "" } } });
    }
  }
}
