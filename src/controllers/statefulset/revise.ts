import type { ParsedCrossClusterStatefulset } from "../../api/index.ts";
import type { Engine } from "../../engine/index.ts";
import type { Dependency, Interpreter } from "../../interpret/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { RevisionIntent } from "../../plan/index.ts";
import { NEUTRAL_REPLICAS, type ReplicaSource, type RevisionContent, snapshotRevision } from "../../render/index.ts";
import { type Clock, type Log, type Random, retryDelayMs } from "../../runtime/index.ts";
import type { HubObjects } from "./hub-objects.ts";
import type { RevisionOwner, RevisionStore, StoredRevision } from "./revision-store.ts";

export interface ReviserOptions {
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly hubObjects: HubObjects;
  readonly store: RevisionStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly changed: (appKey: string) => void;
  /** Throws when the application's object is not there any more. */
  readonly mustStillExist: (appKey: string) => Promise<void>;
}

/** What travels with a grant. Everything else that a template may name is the cluster's own. */
const CARRIED_KINDS = new Set(["v1/ConfigMap", "v1/Secret", "v1/ServiceAccount"]);
/** A member that cannot be asked so often in a row is not asked any more: the rollout's own gate will tell. */
const DRY_RUN_ATTEMPTS = 4;
const DRY_RUN_RETRY_BASE_MS = 1_000;
const DRY_RUN_RETRY_MAX_MS = 10_000;

type DryRunState =
  | { readonly kind: "running" }
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly message: string };

/** Turns the template as it is now into a revision: snapshotted, and accepted by a member before any grant names it. */
export class Reviser {
  readonly #options: ReviserOptions;
  /** The last answer per application, by what it was computed from. */
  readonly #known = new Map<string, { from: string; stored: StoredRevision }>();
  readonly #dryRuns = new Map<string, DryRunState>();

  constructor(options: ReviserOptions) {
    this.#options = options;
  }

  async revision(
    appKey: string,
    statefulset: ParsedCrossClusterStatefulset,
    template: KubeObject,
    dryRunIn: readonly string[],
  ): Promise<RevisionIntent> {
    const owner = { namespace: statefulset.metadata.namespace, name: statefulset.metadata.name };
    const named = this.#options.interpreter.interpret("InterpretDependency", { object: template });
    if (named.state === "pending") return pending("what the template depends on is being asked");
    const dependencies: KubeObject[] = [];
    for (const ref of named.state === "known" ? named.value : []) {
      const found = this.#dependency(appKey, ref, owner.namespace);
      if (found === undefined) continue;
      if (found.kind === "unknown") return pending(`${ref.kind} ${ref.name}: ${found.message}`);
      if (found.kind === "present") dependencies.push(found.object);
    }

    const policies = this.#options.engine.overridePolicies();
    const from = [template, ...dependencies, ...policies].map(versionOf).join(" ");
    const stamp = `${statefulset.spec.restartedAt ?? ""} ${from}`;
    const known = this.#known.get(appKey);
    const stored =
      known?.from === stamp
        ? known.stored
        : await this.#save(
            appKey,
            owner,
            await this.#snapshot(template, dependencies, policies, statefulset.spec.restartedAt),
          );
    this.#known.set(appKey, { from: stamp, stored });
    if (stored.dryRun === "accepted") return { kind: "ready", id: stored.id };
    return this.#dryRun(appKey, owner, stored, dryRunIn);
  }

  /** What a cluster runs already, as a revision of its own. */
  async baseline(
    appKey: string,
    statefulset: ParsedCrossClusterStatefulset,
    live: KubeObject,
  ): Promise<StoredRevision> {
    const owner = { namespace: statefulset.metadata.namespace, name: statefulset.metadata.name };
    // As it runs: a restart that somebody asked for meanwhile is a revision after it.
    return this.#save(appKey, owner, await this.#snapshot(live, [], [], undefined));
  }

  forget(appKey: string): void {
    this.#known.delete(appKey);
  }

  #save(appKey: string, owner: RevisionOwner, content: RevisionContent): Promise<StoredRevision> {
    return this.#options.store.save(owner, content, () => this.#options.mustStillExist(appKey));
  }

  #dependency(appKey: string, ref: Dependency, namespace: string) {
    if (!CARRIED_KINDS.has(`${ref.apiVersion}/${ref.kind}`) || ref.name === undefined) return undefined;
    return this.#options.hubObjects.get(appKey, {
      apiVersion: ref.apiVersion,
      kind: ref.kind,
      namespace: ref.namespace ?? namespace,
      name: ref.name,
    });
  }

  async #snapshot(
    template: KubeObject,
    dependencies: readonly KubeObject[],
    policies: readonly KubeObject[],
    restartedAt: string | undefined,
  ): Promise<RevisionContent> {
    const { interpreter } = this.#options;
    const pruned = await interpreter.interpretNow("Prune", { object: template });
    const object = pruned.state === "known" ? pruned.value : template;
    return snapshotRevision({
      template: object,
      dependencies,
      policies,
      replicas: await this.#replicas(object as KubeObject),
      ...(restartedAt !== undefined && { restart: restartedAt }),
    });
  }

  async #replicas(template: KubeObject): Promise<ReplicaSource> {
    if (template.apiVersion === "apps/v1" || template.apiVersion === "batch/v1") return { kind: "native" };
    const input = { object: template, replicas: NEUTRAL_REPLICAS };
    const revised = await this.#options.interpreter.interpretNow("ReviseReplica", input);
    const taught = revised.state === "known" && revised.layer !== "native";
    return taught ? { kind: "revised", object: revised.value } : { kind: "native" };
  }

  #dryRun(
    appKey: string,
    owner: { namespace: string; name: string },
    stored: StoredRevision,
    clusters: readonly string[],
  ): RevisionIntent {
    const key = `${owner.namespace}/${stored.id}`;
    const state = this.#dryRuns.get(key);
    switch (state?.kind) {
      case "accepted":
        return { kind: "ready", id: stored.id };
      case "refused":
        return { kind: "refused", id: stored.id, message: state.message };
      case "running":
        break;
      case undefined:
        if (clusters.length === 0) {
          return { kind: "pending", id: stored.id, message: "no Ready cluster to try the revision on" };
        }
        this.#dryRuns.set(key, { kind: "running" });
        void this.#tryOn(appKey, key, owner, stored, clusters);
    }
    return { kind: "pending", id: stored.id, message: "a member's API server is asked whether it takes the revision" };
  }

  async #tryOn(
    appKey: string,
    key: string,
    owner: { namespace: string; name: string },
    stored: StoredRevision,
    clusters: readonly string[],
  ): Promise<void> {
    const { clock, random, store, engine, log, signal } = this.#options;
    for (let attempt = 0; attempt < DRY_RUN_ATTEMPTS && !signal.aborted; attempt++) {
      try {
        const content = await store.content(owner, stored.id);
        const cluster = clusters[attempt % clusters.length];
        if (!content || cluster === undefined) break;
        const outcome = await engine.member(cluster).dryRun(content.template as unknown as KubeObject);
        if (outcome.kind === "refused") return this.#settle(appKey, key, outcome);
        if (outcome.kind === "unsupported") break;
        if (outcome.kind === "accepted") {
          await store.markAccepted(owner, stored.id);
          return this.#settle(appKey, key, outcome);
        }
        log.info("a dry run could not be made", { revision: key, cluster, reason: outcome.message });
      } catch (error) {
        log.warn("a dry run failed", { revision: key, reason: error instanceof Error ? error.message : String(error) });
      }
      const pauseMs = retryDelayMs(attempt, DRY_RUN_RETRY_BASE_MS, DRY_RUN_RETRY_MAX_MS, random);
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
    // Nobody could be asked (rights, reachability): the first cluster's own answer decides, before any second one.
    this.#settle(appKey, key, { kind: "accepted" });
  }

  #settle(appKey: string, key: string, state: DryRunState): void {
    this.#dryRuns.set(key, state);
    this.#options.changed(appKey);
  }
}

function pending(message: string): RevisionIntent {
  return { kind: "pending", id: "", message };
}

function versionOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name}@${metadata.uid}:${metadata.resourceVersion}`;
}
