import type { KubeObject } from "../../apiserver/index.ts";
import type { WorkResult } from "../../kube/index.ts";
import { type JsonObject, sameJson } from "../../runtime/index.ts";
import { RefusedError } from "../local-api.ts";
import { objectAt, splitKey } from "../values.ts";
import {
  decideDeployment,
  deploymentStatus,
  REVISION_ANNOTATION,
  revisionNumber,
  setsOf,
  TEMPLATE_HASH_LABEL,
} from "./deployment-decide.ts";
import { type MemberControllerOptions, OwnerQueue } from "./owner-queue.ts";
import { isOwnedBy, ownerReference } from "./pods.ts";
import { hashOf } from "./revisions.ts";

const DEPLOYMENTS = "apps/deployments";
const SETS = "apps/replicasets";

/** Kubernetes' Deployment controller, in one member: it makes ReplicaSets, and moves replicas between them. */
export class DeploymentController {
  readonly queue: OwnerQueue;
  readonly #options: MemberControllerOptions;

  constructor(options: MemberControllerOptions) {
    this.#options = options;
    this.queue = new OwnerQueue(options, { resource: DEPLOYMENTS, kind: "Deployment", owned: SETS }, (key) =>
      this.#sync(key),
    );
  }

  async #sync(key: string): Promise<WorkResult | undefined> {
    const { api, clock, isUp } = this.#options;
    if (!isUp()) return undefined;
    const { namespace, name } = splitKey(key);
    const deployment = api.get(DEPLOYMENTS, namespace, name);
    if (!deployment) return undefined;
    const uid = deployment.metadata.uid ?? "";
    const viewed = () => {
      const sets = api.list(SETS, namespace).filter((set) => isOwnedBy(set, uid));
      return { deployment, sets, nowMs: clock.now() };
    };
    const view = viewed();
    const { create, scale, remove } = decideDeployment(view);
    if (create !== undefined) await api.create(replicaSetFor(deployment, view.sets, create));
    else await this.#promote(view.sets, setsOf(view).current);
    for (const { set, replicas } of scale) await this.#change(set, (spec) => ({ ...spec, replicas }));
    for (const set of remove) await api.delete(set);
    const { status, nextMs } = deploymentStatus(viewed());
    await this.#report(deployment, status);
    return nextMs === undefined ? undefined : { requeueAfterMs: Math.max(0, nextMs - view.nowMs) };
  }

  /** Going back to an old template makes its ReplicaSet the newest revision, as `kubectl rollout history` shows it. */
  async #promote(sets: readonly KubeObject[], current: KubeObject | undefined): Promise<void> {
    const newest = Math.max(0, ...sets.map(revisionNumber));
    if (!current || revisionNumber(current) === newest) return;
    const annotations = { ...current.metadata.annotations, [REVISION_ANNOTATION]: String(newest + 1) };
    const { resourceVersion: _any, ...metadata } = current.metadata;
    await this.#options.api.update({ ...current, metadata: { ...metadata, annotations } });
  }

  async #change(set: KubeObject, changed: (spec: JsonObject) => JsonObject): Promise<void> {
    const { api } = this.#options;
    const { namespace = "", name } = set.metadata;
    const now = api.get(SETS, namespace, name);
    if (now) await api.update({ ...now, spec: changed(objectAt(now, "spec")) });
  }

  async #report(deployment: KubeObject, status: JsonObject): Promise<void> {
    if (sameJson(deployment.status, status)) return;
    const { resourceVersion: _any, ...metadata } = deployment.metadata;
    try {
      await this.#options.api.updateStatus({ ...deployment, metadata, status });
    } catch (error) {
      // Deleted in the meantime: there is no object to report to.
      if (!(error instanceof RefusedError && error.status === 404)) throw error;
    }
  }
}

function replicaSetFor(deployment: KubeObject, sets: readonly KubeObject[], replicas: number): KubeObject {
  const spec = objectAt(deployment, "spec");
  const template = objectAt(spec, "template");
  const hash = hashOf(template);
  const marked = (map: JsonObject) => ({ ...map, [TEMPLATE_HASH_LABEL]: hash });
  const selector = objectAt(spec, "selector");
  const templateMetadata = objectAt(template, "metadata");
  const labels = Object.fromEntries(
    Object.entries(marked(objectAt(templateMetadata, "labels"))).map(([key, value]) => [key, String(value)]),
  );
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      namespace: deployment.metadata.namespace ?? "",
      labels,
      annotations: { [REVISION_ANNOTATION]: String(Math.max(0, ...sets.map(revisionNumber)) + 1) },
      ownerReferences: [ownerReference(deployment)],
    },
    spec: {
      replicas,
      ...(typeof spec.minReadySeconds === "number" && { minReadySeconds: spec.minReadySeconds }),
      selector: { ...selector, matchLabels: marked(objectAt(selector, "matchLabels")) },
      template: { ...template, metadata: { ...templateMetadata, labels } },
    },
  };
}
