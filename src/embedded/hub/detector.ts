import type { Commit, KubeObject } from "../../apiserver/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import { WorkQueue } from "../../kube/index.ts";
import { labelSelectorMatches } from "../../render/index.ts";
import { type Clock, isJsonObject, type JsonObject, type Log, type Random, sameJson } from "../../runtime/index.ts";
import { type LocalApi, RefusedError } from "../local-api.ts";
import { isDeleting, numberAt, objectAt, objectsAt, textAt, withCondition } from "../values.ts";
import { bindingResource, KARMADA, RESOURCES } from "./kinds.ts";
import { type Schedule, schedule, type Target } from "./schedule.ts";

export interface HubControllerOptions {
  readonly api: LocalApi;
  readonly interpreter: Interpreter;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How long after a change Karmada's controllers reconcile. */
  readonly reactionMs: number;
}

export interface DetectorOptions extends HubControllerOptions {
  /** How many more replicas fit into a cluster. */
  readonly roomReplicas: (cluster: string) => number;
}

interface Ref {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Karmada's detector and scheduler: a template that a policy selects gets a ResourceBinding, and that its clusters. */
export class Detector {
  readonly #options: DetectorOptions;
  readonly #queue: WorkQueue;
  /** The kinds that some policy selects, in the API server's names: other commits are ignored. */
  #selected = new Set<string>();

  constructor(options: DetectorOptions) {
    const { api, clock, random, log } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, log, concurrency: 1, work: (key) => this.#sync(key) });
    for (const resource of [RESOURCES.policies, RESOURCES.clusterPolicies])
      api.on(resource, () => this.#policiesChanged());
    // A policy may name a kind that is installed later.
    api.on(RESOURCES.definitions, () => this.#queue.add(KINDS_CHANGED));
    api.on(RESOURCES.clusters, (commit) => this.#clusterChanged(commit));
    for (const resource of [RESOURCES.bindings, RESOURCES.clusterBindings]) {
      api.on(resource, ({ object }) => this.#add(refOf(objectAt(object, "spec", "resource"))));
    }
    api.onAny((commit) => {
      if (this.#selected.has(commit.key.resource) && isTemplateChange(commit)) this.#add(refOfObject(commit.object));
    });
  }

  start(): void {
    this.#queue.start();
    this.#policiesChanged();
  }

  stop(): Promise<void> {
    return this.#queue.shutdown();
  }

  #add(ref: Ref): void {
    this.#queue.addAfter(JSON.stringify([ref.apiVersion, ref.kind, ref.namespace, ref.name]), this.#options.reactionMs);
  }

  #policiesChanged(): void {
    const { api } = this.#options;
    this.#selected = new Set();
    for (const policy of this.#policies()) {
      for (const { apiVersion, kind } of objectsAt(policy, "spec", "resourceSelectors")) {
        const served = api.resourceOf(String(apiVersion), String(kind));
        if (served) this.#selected.add(served.resource);
      }
    }
    for (const resource of this.#selected) for (const object of api.list(resource)) this.#add(refOfObject(object));
  }

  /** Only what the scheduler reads: a heartbeat is no reason to schedule again. */
  #clusterChanged({ type, object, old }: Commit): void {
    if (
      type === "MODIFIED" &&
      sameJson(object.spec, old?.spec) &&
      sameJson(object.metadata.labels, old?.metadata.labels)
    )
      return;
    for (const binding of this.#options.api.list(RESOURCES.bindings))
      this.#add(refOf(objectAt(binding, "spec", "resource")));
  }

  #policies(): KubeObject[] {
    const { api } = this.#options;
    return [...api.list(RESOURCES.policies), ...api.list(RESOURCES.clusterPolicies)];
  }

  async #sync(key: string): Promise<undefined> {
    const { api } = this.#options;
    if (key === KINDS_CHANGED) {
      this.#policiesChanged();
      return undefined;
    }
    const ref = parseRef(key);
    const template = api.find(ref.apiVersion, ref.kind, ref.namespace, ref.name);
    const name = `${ref.name}-${ref.kind}`.toLowerCase();
    const found = api.get(bindingResource(ref.namespace), ref.namespace, name);
    if (!template || isDeleting(template)) return undefined; // the binding belongs to it, and is deleted with it
    const policy = this.#policyFor(template, found);
    // A binding whose policy is gone stays: Karmada stops following it, but does not remove it.
    if (!policy) return undefined;
    const spec = this.#bindingSpec(template, policy);
    if (!found) await this.#create(template, policy, name, spec);
    else if (!sameJson(withoutClusters(found), spec) || !isSelfSame(found, policy)) {
      const clusters = found.spec && isJsonObject(found.spec) ? found.spec.clusters : undefined;
      const metadata = { ...found.metadata, annotations: policyMarks(policy) };
      await api.update({ ...found, metadata, spec: { ...spec, ...(clusters !== undefined && { clusters }) } });
    }
    await this.#schedule(ref.namespace, name);
    return undefined;
  }

  /** The policy that has it keeps it; otherwise the highest priority, the most specific selector, the first name. */
  #policyFor(template: KubeObject, binding: KubeObject | undefined): KubeObject | undefined {
    const matching = this.#policies()
      .filter((policy) => !policy.metadata.namespace || policy.metadata.namespace === template.metadata.namespace)
      .map((policy) => ({ policy, rank: rankOf(policy, template) }))
      .filter(({ rank }) => rank > 0);
    const claimed = binding && matching.find(({ policy }) => isSelfSame(binding, policy));
    if (claimed) return claimed.policy;
    const priority = (policy: KubeObject) => numberAt(policy, "spec", "priority") ?? 0;
    matching.sort(
      (a, b) =>
        Number(b.policy.metadata.namespace !== undefined) - Number(a.policy.metadata.namespace !== undefined) ||
        priority(b.policy) - priority(a.policy) ||
        b.rank - a.rank ||
        (a.policy.metadata.name < b.policy.metadata.name ? -1 : 1),
    );
    return matching[0]?.policy;
  }

  #bindingSpec(template: KubeObject, policy: KubeObject): JsonObject {
    const { apiVersion, kind, metadata } = template;
    const counted = this.#options.interpreter.interpret("InterpretReplica", { object: template });
    const spec = objectAt(policy, "spec");
    return {
      resource: {
        apiVersion,
        kind,
        namespace: metadata.namespace ?? "",
        name: metadata.name,
        uid: metadata.uid ?? "",
        resourceVersion: metadata.resourceVersion ?? "",
      },
      ...(counted.state === "known" && { replicas: counted.value.replicas }),
      placement: objectAt(spec, "placement"),
      conflictResolution: textAt(spec, "conflictResolution") || "Abort",
      ...(spec.propagateDeps === true && { propagateDeps: true }),
      ...(spec.preserveResourcesOnDeletion === true && { preserveResourcesOnDeletion: true }),
      ...(isJsonObject(spec.suspension) && { suspension: spec.suspension }),
    };
  }

  async #create(template: KubeObject, policy: KubeObject, name: string, spec: JsonObject): Promise<void> {
    const { api, random } = this.#options;
    const { apiVersion, kind, metadata } = template;
    const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "", controller: true };
    await api.create({
      apiVersion: "work.karmada.io/v1alpha2",
      kind: metadata.namespace === undefined ? "ClusterResourceBinding" : "ResourceBinding",
      metadata: {
        name,
        ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
        labels: { [KARMADA.bindingId]: random.uuid() },
        annotations: policyMarks(policy),
        ownerReferences: [owner],
      },
      spec,
    });
  }

  async #schedule(namespace: string, name: string): Promise<void> {
    const { api, clock, roomReplicas } = this.#options;
    const binding = api.get(bindingResource(namespace), namespace, name);
    if (!binding) return;
    const previous = targetsOf(binding);
    const result = schedule({
      placement: objectAt(binding, "spec", "placement"),
      clusters: api
        .list(RESOURCES.clusters)
        .map((object) => ({ object, roomReplicas: roomReplicas(object.metadata.name) })),
      replicas: numberAt(binding, "spec", "replicas") ?? 0,
      previous,
    });
    if (result.kind === "scheduled" && !sameJson(asJson(result.targets), asJson(previous))) {
      const spec = { ...objectAt(binding, "spec"), clusters: asJson(result.targets) };
      await api.update({ ...binding, spec });
    }
    const written = api.get(bindingResource(namespace), namespace, name);
    if (!written) return;
    const conditions = withCondition(objectsAt(written, "status", "conditions"), conditionFor(result), clock.now());
    const status = {
      ...objectAt(written, "status"),
      schedulerObservedGeneration: written.metadata.generation ?? 0,
      conditions,
    };
    if (sameJson(written.status, status)) return;
    try {
      await api.updateStatus({ ...written, status });
    } catch (error) {
      if (!(error instanceof RefusedError && error.status === 404)) throw error;
    }
  }
}

/** A key of the queue that no template has. */
const KINDS_CHANGED = ":kinds";

export function targetsOf(binding: KubeObject): Target[] {
  return objectsAt(binding, "spec", "clusters").map((target) => ({
    name: textAt(target, "name"),
    replicas: numberAt(target, "replicas") ?? 0,
  }));
}

function conditionFor(result: Schedule) {
  return result.kind === "scheduled"
    ? { type: "Scheduled", status: "True", reason: "Success", message: "Binding has been scheduled successfully." }
    : { type: "Scheduled", status: "False", reason: "Unschedulable", message: result.message };
}

function asJson(targets: readonly Target[]): JsonObject[] {
  return targets.map(({ name, replicas }) => ({ name, replicas }));
}

function withoutClusters(binding: KubeObject): JsonObject {
  const { clusters: _scheduled, ...spec } = objectAt(binding, "spec");
  return spec;
}

function policyMarks(policy: KubeObject): Record<string, string> {
  const { name, namespace } = policy.metadata;
  return namespace === undefined
    ? { [KARMADA.clusterPolicyName]: name }
    : { [KARMADA.policyNamespace]: namespace, [KARMADA.policyName]: name };
}

function isSelfSame(binding: KubeObject, policy: KubeObject): boolean {
  return sameJson(binding.metadata.annotations, policyMarks(policy));
}

/** A status report on the template does not change it. */
function isTemplateChange({ type, object, old }: Commit): boolean {
  if (type !== "MODIFIED" || old === undefined) return true;
  const { metadata } = object;
  if (metadata.generation === undefined) return true;
  return (
    metadata.generation !== old.metadata.generation ||
    metadata.deletionTimestamp !== old.metadata.deletionTimestamp ||
    !sameJson(metadata.labels, old.metadata.labels) ||
    !sameJson(metadata.annotations, old.metadata.annotations)
  );
}

/** 3: by name, 2: by label, 1: the whole kind, 0: not at all. */
function rankOf(policy: KubeObject, { apiVersion, kind, metadata }: KubeObject): number {
  const ranks = objectsAt(policy, "spec", "resourceSelectors").map((selector) => {
    if (selector.apiVersion !== apiVersion || selector.kind !== kind) return 0;
    const namespace = textAt(selector, "namespace");
    if (namespace !== "" && namespace !== (metadata.namespace ?? "")) return 0;
    const name = textAt(selector, "name");
    if (name !== "") return name === metadata.name ? 3 : 0;
    const { labelSelector } = selector;
    if (!isJsonObject(labelSelector)) return 1;
    return labelSelectorMatches(labelSelector, metadata.labels ?? {}) ? 2 : 0;
  });
  return Math.max(0, ...ranks);
}

function refOf(resource: JsonObject): Ref {
  return {
    apiVersion: textAt(resource, "apiVersion"),
    kind: textAt(resource, "kind"),
    namespace: textAt(resource, "namespace"),
    name: textAt(resource, "name"),
  };
}

function refOfObject({ apiVersion, kind, metadata }: KubeObject): Ref {
  return { apiVersion, kind, namespace: metadata.namespace ?? "", name: metadata.name };
}

function parseRef(key: string): Ref {
  const [apiVersion = "", kind = "", namespace = "", name = ""] = JSON.parse(key) as string[];
  return { apiVersion, kind, namespace, name };
}
