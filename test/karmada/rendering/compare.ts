/** What Karmada renders for a case, and what Lockstep renders, in a form in which they can be compared. */
import { type Dependency, httpWebhookTransports, Interpreter } from "../../../src/interpret/index.ts";
import type { KubeObject } from "../../../src/kube/index.ts";
import {
  applyOverrides,
  type ClusterFacts,
  OverrideError,
  renderMember,
  sanitize,
  snapshotRevision,
} from "../../../src/render/index.ts";
import { grant, topology } from "../../../src/render/testing/fixtures.ts";
import { isJsonObject, type JsonObject, silentLog, systemClock, systemRandom } from "../../../src/runtime/index.ts";
import { CLUSTERS } from "./table.ts";

export const FAILS = "the override fails";

const interpreter = new Interpreter({
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
  transports: httpWebhookTransports,
});

export function facts(name: string): ClusterFacts {
  const { labels = {}, spec = {} } = CLUSTERS[name] ?? {};
  return { name, labels, ...spec };
}

/** An object as a dependency of an application: nothing but overrides changes it. */
export function rendered(object: JsonObject, cluster: string, policies: readonly JsonObject[]): JsonObject | string {
  try {
    return comparable(sanitize(applyOverrides(sanitize(object), facts(cluster), policies).object));
  } catch (error) {
    if (error instanceof OverrideError) return FAILS;
    throw error;
  }
}

/** A workload under a grant, without what the grant alone decides. */
export function granted(
  template: KubeObject,
  cluster: string,
  replicas: number,
  policies: readonly JsonObject[],
): JsonObject | string {
  const { name, namespace = "" } = template.metadata;
  const app = { name, namespace, service: name, clusterToken: "token" };
  const content = snapshotRevision({ template: template as unknown as JsonObject, dependencies: [], policies });
  const result = renderMember({
    app,
    cluster: facts(cluster),
    grant: grant({ cluster, revision: "r", replicas }),
    revision: { id: "r", content },
    topology: topology([1, 1, 1], app),
    initialCluster: "",
  });
  if (!result.ok) return result.error.message;
  return withoutGrant(comparable(result.workload));
}

/** What StatefulSets get from a grant only: their numbers, and the order in which pods are replaced. */
export function withoutGrant(object: JsonObject): JsonObject {
  const { ordinals: _ordinals, updateStrategy: _strategy, ...spec } = isJsonObject(object.spec) ? object.spec : {};
  return { ...object, spec };
}

/** Without the marks that Karmada and Lockstep put on what they send; everything else must be the same. */
export function comparable(object: JsonObject): JsonObject {
  const metadata: JsonObject = { ...(isJsonObject(object.metadata) ? object.metadata : {}) };
  for (const map of ["labels", "annotations"]) {
    const { [map]: marks } = metadata;
    if (!isJsonObject(marks)) continue;
    const own = Object.entries(marks).filter(([key]) => !/^([^/]+\.)?karmada\.io\//.test(key));
    delete metadata[map];
    if (own.length > 0) metadata[map] = Object.fromEntries(own);
  }
  return { ...object, metadata };
}

/** The objects that the template names, as `Kind name`. */
export function dependencies(template: KubeObject): string[] {
  const outcome = interpreter.interpret("InterpretDependency", { object: template as unknown as JsonObject });
  if (outcome.state !== "known") throw new Error(JSON.stringify(outcome));
  return outcome.value.map(({ kind, name }: Dependency) => `${kind} ${name}`).sort();
}

/** The template with another count, as the interpreter revises it. */
export function revised(template: KubeObject, replicas: number): JsonObject {
  const outcome = interpreter.interpret("ReviseReplica", { object: template as unknown as JsonObject, replicas });
  if (outcome.state !== "known") throw new Error(JSON.stringify(outcome));
  return comparable(outcome.value);
}
