import type { Cache, KubeClient, KubeObject } from "../../kube/index.ts";
import type { Clock } from "../../runtime/index.ts";
import { isRefusedSwap, laterTermOf, manifestOf, termOf, uidPrecondition } from "../dispatch-objects.ts";
import type { Dispatches } from "../dispatches.ts";
import { DispatchConflictError } from "../errors.ts";
import { MARKS } from "../marks.ts";
import { type OwnWorks, SWAP_ATTEMPTS } from "../own-works.ts";
import type { Dispatched, EngineOwner } from "../port.ts";
import { waitUntil } from "../wait.ts";
import { isApplied, isSettled, isThere, manifestStatus } from "./reports.ts";
import { MANIFEST_WORKS } from "./resources.ts";
import { isOwner, isReserved, keepingPatch, keepsObject, policyOf, removing, wasRemoving } from "./works.ts";

/** An agent answers within a tenth of a second; if it takes longer, the next attempt does the rest. */
const LETTING_GO_MS = 10_000;

export interface EndingOptions {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly own: OwnWorks;
  readonly dispatches: Dispatches;
  readonly unlabelled: Cache<KubeObject>;
  readonly pluralOf: (cluster: string, apiVersion: string, kind: string) => Promise<string>;
}

/**
 * Ends ManifestWorks so that nothing is lost. When a ManifestWork is deleted, the agent decides by the owner reference
 * on an object whether to delete the object too, and it changes that owner only when it applies. A writer that changes
 * the policy and deletes at once loses one object in four. So Lockstep sees every change of policy applied before it
 * deletes anything.
 */
export class Endings {
  readonly #options: EndingOptions;

  constructor(options: EndingOptions) {
    this.#options = options;
  }

  /** One step; true after the ManifestWork is gone. */
  async withdraw(app: EngineOwner, dispatched: Dispatched, what: "keep" | "remove"): Promise<boolean> {
    const { own, dispatches } = this.#options;
    const work = await dispatches.find(app, dispatched);
    if (!work) return true;
    if (work.metadata.deletionTimestamp !== undefined) return false;
    if (termOf(work) > dispatched.term) throw laterTermOf(work, dispatched.term, termOf(work));
    if (what === "keep") return this.#keep(app, work);
    if (isReserved(work)) return own.delete(app, work);
    if (policyOf(work) !== "Foreground") return this.#beginRemoval(app, dispatched, work);
    // Refused, and the object exists: the agent is not its owner, and would leave it behind.
    const applied = isApplied(work);
    if (applied === undefined || (!applied && isThere(manifestStatus(work)) !== false)) return false;
    return own.delete(app, work);
  }

  /** Releases what other writers' ManifestWorks deliver, and ends them. Throws while an agent has not done its part. */
  async adopt(cluster: string, foreign: readonly KubeObject[]): Promise<void> {
    for (const work of foreign.filter(({ metadata }) => metadata.deletionTimestamp === undefined)) {
      const kept = await this.#kept(cluster, work);
      if (kept) await this.#letGo(cluster, kept);
    }
  }

  /** Another writer's ManifestWork, changed to keep its object; undefined if it is gone. */
  async #kept(cluster: string, seen: KubeObject): Promise<KubeObject | undefined> {
    const { hub, unlabelled } = this.#options;
    let work: KubeObject | undefined = seen;
    for (let attempt = 0; work && attempt < SWAP_ATTEMPTS; attempt++) {
      try {
        const patch = keepingPatch(work, { [MARKS.adopted]: "true" });
        const kept: KubeObject = await hub.patch(MANIFEST_WORKS, work.metadata, patch);
        unlabelled.wrote(kept);
        return kept;
      } catch (error) {
        if (!isRefusedSwap(error)) throw error;
        work = await hub.find(MANIFEST_WORKS, seen.metadata);
      }
    }
    if (work) throw new DispatchConflictError(cluster, `ManifestWork ${seen.metadata.name}`);
    return undefined;
  }

  async #letGo(cluster: string, kept: KubeObject): Promise<void> {
    const { hub, clock, unlabelled } = this.#options;
    const { namespace, name, generation = 0 } = kept.metadata;
    const isLetGo = (now: KubeObject | undefined) =>
      now !== undefined && (now.metadata.generation ?? 0) >= generation && isSettled(now);
    if (!(await waitUntil(unlabelled, kept.metadata, isLetGo, clock, LETTING_GO_MS))) {
      throw new AgentAwaitedError(
        cluster,
        `ManifestWork ${namespace}/${name} must keep its object, and the cluster's agent has not applied that yet`,
      );
    }
    const left = await hub.delete(MANIFEST_WORKS, kept.metadata, uidPrecondition(kept));
    if (left) unlabelled.wrote(left);
    else unlabelled.deleted(kept);
  }

  async #keep(app: EngineOwner, work: KubeObject): Promise<boolean> {
    const { hub, own } = this.#options;
    if (!keepsObject(work)) {
      await attempted(() => own.write(app, work, () => hub.patch(MANIFEST_WORKS, work.metadata, keepingPatch(work))));
      return false;
    }
    if (wasRemoving(work) && isApplied(work) !== true && isThere(manifestStatus(work)) !== false) return false;
    return own.delete(app, work);
  }

  async #beginRemoval(app: EngineOwner, dispatched: Dispatched, work: KubeObject): Promise<boolean> {
    const { hub, own, pluralOf } = this.#options;
    // What the agent has not answered yet may still arrive in the member, where nothing would remove it.
    if (!isOwner(work)) return isApplied(work) === false ? own.delete(app, work) : false;
    const manifest = manifestOf(work);
    if (!manifest) return own.delete(app, work);
    const next = removing(work, await pluralOf(dispatched.cluster, manifest.apiVersion, manifest.kind));
    if (next) await attempted(() => own.write(app, next, () => hub.update(MANIFEST_WORKS, next)));
    return false;
  }
}

/** A write that lost its race is retried at the next attempt. */
async function attempted(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isRefusedSwap(error)) throw error;
  }
}

/** Thrown when something is to be dispatched to a cluster that is being detached: OCM would delete it at once. */
export class ClusterDetachingError extends Error {
  override readonly name = "ClusterDetachingError";
  readonly cluster: string;

  constructor(cluster: string) {
    super(
      `${cluster} is being detached, and Open Cluster Management deletes every ManifestWork there: ` +
        "what runs there stays as it is, without Lockstep. " +
        `Attach the cluster again, or move its instances: schedule none there, and run 'lockstep confirm-lost ${cluster}'`,
    );
    this.cluster = cluster;
  }
}

/** Thrown when the next step must wait for a cluster's agent: continuing without it could delete an object. */
export class AgentAwaitedError extends Error {
  override readonly name = "AgentAwaitedError";
  readonly cluster: string;

  constructor(cluster: string, what: string) {
    super(`${cluster}: ${what}; Lockstep retries`);
    this.cluster = cluster;
  }
}
