import type { KubeClient, KubeObject } from "../../kube/index.ts";
import { isRefusedSwap, takesOver, workName } from "../dispatch-objects.ts";
import { DispatchConflictError } from "../errors.ts";
import { type OwnWorks, SWAP_ATTEMPTS } from "../own-works.ts";
import type { DispatchOrder, EngineApp } from "../port.ts";
import type { ForeignWorks } from "./foreign-works.ts";
import { executionNamespace, WORKS } from "./resources.ts";
import { takingOverPatch } from "./works.ts";

export interface RivalOptions {
  readonly hub: KubeClient;
  readonly own: OwnWorks;
  readonly foreign: ForeignWorks;
}

/** What our own Works do about Works of other writers for the same object. */
export class Rivals {
  readonly #options: RivalOptions;

  constructor(options: RivalOptions) {
    this.#options = options;
  }

  /** Another writer's Work for the same object would conflict with ours: what Karmada delivers must be adopted first. */
  async refuse(app: EngineApp, order: DispatchOrder, bindingId: string | undefined): Promise<void> {
    const { foreign } = this.#options;
    const { cluster, takeOver, expected } = order;
    if (takeOver) return;
    let [rival] = foreign.in(app, cluster);
    const isFirst = !expected || expected.manifest.kind === undefined;
    // The watch may be behind; if no Work of ours is known, the server is asked.
    if (!rival && isFirst && bindingId !== undefined) {
      [rival] = await foreign.rendered(bindingId, executionNamespace(cluster));
    }
    if (!rival) return;
    foreign.forget(app.template);
    const { kind, name } = app.template;
    throw new DispatchConflictError(cluster, `what Work ${rival.metadata.name} delivers of ${kind} ${name}`);
  }

  /**
   * A deleted Work takes away the mark by which Karmada knows its objects, and Karmada would then refuse ours. So ours
   * records that they take the object over.
   */
  async takeOverAfter(app: EngineApp, rivals: readonly KubeObject[]): Promise<void> {
    const places = new Set(rivals.map(({ metadata }) => metadata.namespace));
    for (const work of this.#options.own.of(app)) {
      if (!places.has(work.metadata.namespace) || takesOver(work)) continue;
      if (work.metadata.name === workName(app, app.template)) await this.#markTakingOver(app, work);
    }
  }

  /** The rival may be gone before the next look: a swap that Karmada's status write defeated is retried here. */
  async #markTakingOver(app: EngineApp, seen: KubeObject): Promise<void> {
    const { hub, own } = this.#options;
    let work: KubeObject | undefined = seen;
    for (let attempt = 0; work?.metadata.uid === seen.metadata.uid && work && attempt < SWAP_ATTEMPTS; attempt++) {
      const current: KubeObject = work;
      try {
        await own.write(app, current, () => hub.patch(WORKS, current.metadata, takingOverPatch(current)));
        return;
      } catch (error) {
        if (!isRefusedSwap(error)) throw error;
        work = await hub.find(WORKS, seen.metadata);
      }
    }
  }
}
