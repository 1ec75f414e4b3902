import { createHash } from "node:crypto";
import type { KubeObject } from "../../apiserver/index.ts";
import { WorkQueue } from "../../kube/index.ts";
import { applyOverrides } from "../../render/index.ts";
import { isJsonObject, type JsonObject, sameJson } from "../../runtime/index.ts";
import { isDeleting, keyOf, objectAt, splitKey, textAt, textsAt } from "../values.ts";
import { type HubControllerOptions, targetsOf } from "./detector.ts";
import { bindingResource, executionNamespace, KARMADA, RESOURCES } from "./kinds.ts";
import type { Target } from "./schedule.ts";

const HASH_LETTERS = 10;

/**
 * Karmada's binding controller: one Work per scheduled cluster, rendered from the latest template with the override
 * policies applied. A policy that fails leaves the Work unchanged: a hold relies on that.
 */
export class BindingController {
  readonly #options: HubControllerOptions;
  readonly #queue: WorkQueue;

  constructor(options: HubControllerOptions) {
    const { api, clock, random, log } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, log, concurrency: 1, work: (key) => this.#sync(key) });
    for (const resource of [RESOURCES.bindings, RESOURCES.clusterBindings]) {
      api.on(resource, ({ type, key, object }) => {
        if (type === "DELETED") this.#queue.add(GONE + (object.metadata.labels?.[KARMADA.bindingId] ?? ""));
        else this.#add(keyOf(key.namespace, key.name));
      });
    }
    for (const resource of [RESOURCES.overrides, RESOURCES.clusterOverrides]) api.on(resource, () => this.#addAll());
    api.on(RESOURCES.works, ({ type, object }) => {
      const annotations = object.metadata.annotations ?? {};
      const name = annotations[KARMADA.bindingName];
      if (type === "DELETED" && name) this.#add(keyOf(annotations[KARMADA.bindingNamespace] ?? "", name));
    });
  }

  start(): void {
    this.#queue.start();
    this.#addAll();
  }

  stop(): Promise<void> {
    return this.#queue.shutdown();
  }

  #add(key: string): void {
    this.#queue.addAfter(key, this.#options.reactionMs);
  }

  #addAll(): void {
    const { api } = this.#options;
    for (const { metadata } of [...api.list(RESOURCES.bindings), ...api.list(RESOURCES.clusterBindings)]) {
      this.#add(keyOf(metadata.namespace ?? "", metadata.name));
    }
  }

  async #sync(key: string): Promise<undefined> {
    const { api, log } = this.#options;
    if (key.startsWith(GONE)) {
      for (const work of this.#worksOf(key.slice(GONE.length))) await api.delete(work);
      return undefined;
    }
    const { namespace, name } = splitKey(key);
    const binding = api.get(bindingResource(namespace), namespace, name);
    if (!binding || isDeleting(binding)) return undefined;
    const targets = targetsOf(binding);
    const id = binding.metadata.labels?.[KARMADA.bindingId] ?? "";
    const wanted = new Set(targets.map((target) => executionNamespace(target.name)));
    for (const work of this.#worksOf(id)) {
      if (!wanted.has(work.metadata.namespace ?? "")) await api.delete(work);
    }
    const resource = objectAt(binding, "spec", "resource");
    const [apiVersion, kind, templateName] = [
      textAt(resource, "apiVersion"),
      textAt(resource, "kind"),
      textAt(resource, "name"),
    ];
    const template = api.find(apiVersion, kind, namespace, templateName);
    if (!template || isDeleting(template) || objectAt(binding, "spec", "suspension").dispatching === true)
      return undefined;
    const suspended = new Set(textsAt(binding, "spec", "suspension", "dispatchingOnClusters", "clusterNames"));
    for (const target of targets) {
      if (suspended.has(target.name)) continue;
      try {
        await this.#dispatch(binding, template, target);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        log.debug("a Work was not rendered", { binding: key, cluster: target.name, reason });
      }
    }
    return undefined;
  }

  #worksOf(bindingId: string): KubeObject[] {
    if (bindingId === "") return [];
    return this.#options.api
      .list(RESOURCES.works)
      .filter((work) => work.metadata.labels?.[KARMADA.bindingId] === bindingId && !isDeleting(work));
  }

  async #dispatch(binding: KubeObject, template: KubeObject, target: Target): Promise<void> {
    const { api, random } = this.#options;
    const namespace = executionNamespace(target.name);
    const name = workName(template);
    const found = api.get(RESOURCES.works, namespace, name);
    if (found && isDeleting(found)) return;
    const workId = found?.metadata.labels?.[KARMADA.workId] ?? random.uuid();
    const bindingMarks = {
      [KARMADA.bindingName]: binding.metadata.name,
      [KARMADA.bindingNamespace]: binding.metadata.namespace ?? "",
    };
    const rendered = this.#render(binding, template, target);
    const metadata = objectAt(rendered, "metadata");
    const manifest = {
      ...rendered,
      metadata: {
        ...metadata,
        labels: { ...objectAt(metadata, "labels"), [KARMADA.managed]: "true", [KARMADA.workId]: workId },
        annotations: {
          ...objectAt(metadata, "annotations"),
          ...bindingMarks,
          [KARMADA.workName]: name,
          [KARMADA.workNamespace]: namespace,
          ...(textAt(binding, "spec", "conflictResolution") === "Overwrite" && {
            [KARMADA.conflictResolution]: "overwrite",
          }),
        },
      },
    };
    const preserve = objectAt(binding, "spec").preserveResourcesOnDeletion === true;
    const spec = { ...(preserve && { preserveResourcesOnDeletion: true }), workload: { manifests: [manifest] } };
    if (found && sameJson(found.spec, spec)) return;
    const work: KubeObject = {
      ...found,
      apiVersion: "work.karmada.io/v1alpha1",
      kind: "Work",
      metadata: {
        ...found?.metadata,
        name,
        namespace,
        labels: { [KARMADA.bindingId]: binding.metadata.labels?.[KARMADA.bindingId] ?? "", [KARMADA.workId]: workId },
        annotations: bindingMarks,
        finalizers: [KARMADA.executionFinalizer],
      },
      spec,
    };
    await (found ? api.update(work) : api.create(work));
  }

  /** The template for this cluster. Throws if an override policy fails. */
  #render(binding: KubeObject, template: KubeObject, target: Target): JsonObject {
    const { api, interpreter } = this.#options;
    const scheduling = objectAt(binding, "spec", "placement", "replicaScheduling");
    let object: JsonObject = withoutServerFields(template);
    if (textAt(scheduling, "replicaSchedulingType") === "Divided") {
      const revised = interpreter.interpret("ReviseReplica", { object, replicas: target.replicas });
      if (revised.state === "known") object = revised.value;
    }
    const policies = [...api.list(RESOURCES.clusterOverrides), ...api.list(RESOURCES.overrides)];
    const cluster = api.get(RESOURCES.clusters, "", target.name);
    const facts = {
      name: target.name,
      labels: cluster?.metadata.labels ?? {},
      zones: textsAt(cluster, "spec", "zones"),
    };
    return applyOverrides(object, facts, policies).object;
  }
}

/** No namespace starts with a colon, so these keys cannot be a binding's. */
const GONE = ":gone:";

function workName({ kind, metadata }: KubeObject): string {
  const text = `${metadata.namespace ?? ""}-${metadata.name}-${kind}`.toLowerCase();
  return `${metadata.name}-${createHash("sha256").update(text).digest("hex").slice(0, HASH_LETTERS)}`;
}

function withoutServerFields(template: KubeObject): JsonObject {
  const { status: _status, metadata, ...rest } = template;
  const { name, namespace, labels, annotations } = metadata;
  return {
    ...rest,
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(isJsonObject(labels) && { labels }),
      ...(isJsonObject(annotations) && { annotations }),
    },
  };
}
