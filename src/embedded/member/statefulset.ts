import type { KubeObject } from "../../apiserver/index.ts";
import { WorkQueue, type WorkResult } from "../../kube/index.ts";
import { type Clock, type Log, type Random, sameJson } from "../../runtime/index.ts";
import { type LocalApi, RefusedError } from "../local-api.ts";
import { keyOf, splitKey, textAt } from "../values.ts";
import { decide, nextChangeMs, type SetAction, statusOf } from "./decide.ts";
import { claimsFor, isOwnedBy, ordinalOf, podFor } from "./pods.ts";
import { Revisions } from "./revisions.ts";

const SETS = "apps/statefulsets";
const PODS = "/pods";
const CLAIMS = "/persistentvolumeclaims";

export interface MemberControllerOptions {
  readonly api: LocalApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Whether this cluster's API server is up: its controllers stop while it is down. */
  readonly isUp: () => boolean;
  /** How long after a change the controller reconciles. */
  readonly reactionMs: number;
}

/** Kubernetes' StatefulSet controller, in one member. */
export class StatefulSetController {
  readonly #options: MemberControllerOptions;
  readonly #revisions: Revisions;
  readonly #queue: WorkQueue;

  constructor(options: MemberControllerOptions) {
    const { api, clock, random, log } = options;
    this.#options = options;
    this.#revisions = new Revisions(api);
    this.#queue = new WorkQueue({ clock, random, log, concurrency: 1, work: (key) => this.#sync(key) });
    api.on(SETS, ({ key }) => this.#add(keyOf(key.namespace, key.name)));
    api.on(PODS, ({ object }) => this.#podChanged(object));
  }

  start(): void {
    this.#queue.start();
    this.syncAll();
  }

  /** After the API server returned. */
  syncAll(): void {
    for (const { metadata } of this.#options.api.list(SETS)) this.#add(keyOf(metadata.namespace ?? "", metadata.name));
  }

  stop(): Promise<void> {
    return this.#queue.shutdown();
  }

  #add(key: string): void {
    this.#queue.addAfter(key, this.#options.reactionMs);
  }

  #podChanged(pod: KubeObject): void {
    for (const owner of pod.metadata.ownerReferences ?? []) {
      if (owner.kind === "StatefulSet") this.#add(keyOf(pod.metadata.namespace ?? "", owner.name));
    }
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
