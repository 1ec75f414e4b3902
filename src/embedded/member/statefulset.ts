import type { KubeObject } from "../../apiserver/index.ts";
import type { WorkResult } from "../../kube/index.ts";
import { sameJson } from "../../runtime/index.ts";
import { RefusedError } from "../local-api.ts";
import { splitKey, textAt } from "../values.ts";
import { decide, nextChangeMs, type SetAction, statusOf } from "./decide.ts";
import { type MemberControllerOptions, OwnerQueue } from "./owner-queue.ts";
import { claimsFor, isOwnedBy, ordinalOf, podFor } from "./pods.ts";
import { Revisions } from "./revisions.ts";

const SETS = "apps/statefulsets";
const PODS = "/pods";
const CLAIMS = "/persistentvolumeclaims";

/** Kubernetes' StatefulSet controller, in one member. */
export class StatefulSetController {
  readonly queue: OwnerQueue;
  readonly #options: MemberControllerOptions;
  readonly #revisions: Revisions;

  constructor(options: MemberControllerOptions) {
    this.#options = options;
    this.#revisions = new Revisions(options.api);
    this.queue = new OwnerQueue(options, { resource: SETS, kind: "StatefulSet", owned: PODS }, (key) =>
      this.#sync(key),
    );
  }

  async #sync(key: string): Promise<WorkResult | undefined> {
    const { api, clock, isUp } = this.#options;
    if (!isUp()) return undefined;
    const { namespace, name } = splitKey(key);
    const set = api.get(SETS, namespace, name);
    if (!set) return undefined;
    const { current, update } = await this.#revisions.of(set);
    const uid = set.metadata.uid ?? "";
    const pods = api
      .list(PODS, namespace)
      .filter((pod) => isOwnedBy(pod, uid))
      .sort((left, right) => ordinalOf(left) - ordinalOf(right));
    const view = { set, pods, current, update, nowMs: clock.now() };
    for (const action of decide(view)) await this.#perform(set, action);
    await this.#report(set, statusOf(view));
    await this.#revisions.truncate(set, pods, [current, update]);
    const nextMs = nextChangeMs(view);
    return nextMs === undefined ? undefined : { requeueAfterMs: nextMs - view.nowMs };
  }

  async #perform(set: KubeObject, action: SetAction): Promise<void> {
    const { api } = this.#options;
    switch (action.kind) {
      case "create":
        for (const claim of claimsFor(set, action.ordinal)) {
          const { namespace = "", name } = claim.metadata;
          if (!api.get(CLAIMS, namespace, name)) await api.create(claim);
        }
        return api.create(podFor(set, action.ordinal, action.revision));
      case "delete":
        if (action.scaledDown) await this.#handClaimsToPod(set, action.pod);
        return api.delete(action.pod);
    }
  }

  /** `whenScaled: Delete`: the claims belong to the pod from now on, and are deleted after it. */
  async #handClaimsToPod(set: KubeObject, pod: KubeObject): Promise<void> {
    const { api } = this.#options;
    if (textAt(set, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled") !== "Delete") return;
    const { apiVersion, kind, metadata } = pod;
    const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "" };
    for (const claim of claimsFor(set, ordinalOf(pod))) {
      const found = api.get(CLAIMS, claim.metadata.namespace ?? "", claim.metadata.name);
      if (!found) continue;
      await api.update({ ...found, metadata: { ...found.metadata, ownerReferences: [owner] } });
    }
  }

  async #report(set: KubeObject, status: ReturnType<typeof statusOf>): Promise<void> {
    const { api } = this.#options;
    if (sameJson(set.status, status)) return;
    const { resourceVersion: _any, ...metadata } = set.metadata;
    try {
      await api.updateStatus({ ...set, metadata, status });
    } catch (error) {
      // Deleted in the meantime: there is no object to report to.
      if (!(error instanceof RefusedError && error.status === 404)) throw error;
    }
  }
}
