/** What an adoption would take over: each cluster's live object, read through the hub's cluster proxy. Writes nothing. */
import type { ParsedCrossClusterStatefulset } from "../api/index.ts";
import { leaderSourceOf, observe, ordinalsStart } from "../controllers/index.ts";
import type { ObjectRef } from "../engine/index.ts";
import type { Interpreter } from "../interpret/index.ts";
import type { KubeObject } from "../kube/index.ts";
import type { Baseline, Observation } from "../plan/index.ts";
import { NEUTRAL_REPLICAS, nameRevision, type RevisionContent, snapshotRevision } from "../render/index.ts";
import { explain } from "./errors.ts";
import type { Hub } from "./hub.ts";
import { packed, replicaSource } from "./packing.ts";

export interface Adopted {
  readonly baselines: Readonly<Record<string, Baseline>>;
  readonly observations: Readonly<Record<string, Observation>>;
}

/** Reads every cluster; what each runs is added to `contents` as a revision of its own, as the controller will. */
export async function adoptedFrom(
  hub: Hub,
  clusters: readonly string[],
  ref: ObjectRef,
  statefulset: ParsedCrossClusterStatefulset,
  interpreter: Interpreter,
  contents: Map<string, RevisionContent>,
  notes: string[],
): Promise<Adopted> {
  const baselines: Record<string, Baseline> = {};
  const observations: Record<string, Observation> = {};
  for (const cluster of clusters) {
    try {
      const object = await liveObject(hub, cluster, ref);
      const count = await interpreter.interpretNow("InterpretReplica", { object });
      if (count.state !== "known") {
        const message = "nobody can tell how many instances run there, so its adoption is not shown";
        notes.push(`${cluster}: ${message}`);
        observations[cluster] = { kind: "unreachable", message };
        continue;
      }
      const template = await packed(interpreter, object);
      const content = snapshotRevision({
        template,
        dependencies: [],
        policies: [],
        replicas: await replicaSource(interpreter, template, NEUTRAL_REPLICAS),
        ...(statefulset.spec.restartedAt !== undefined && { restart: statefulset.spec.restartedAt }),
      });
      const revision = nameRevision(content, (id) => contents.get(id)).id;
      contents.set(revision, content);
      baselines[cluster] = { revision, replicas: count.value.replicas, start: ordinalsStart(object) };
      observations[cluster] = observe(
        { kind: "present", object, source: "live", atMs: hub.clock.now() },
        {
          interpreter,
          cluster,
          leader: leaderSourceOf(statefulset),
          clusterOfInstance: () => undefined,
          isCluster: (name) => clusters.includes(name),
        },
      );
    } catch (error) {
      const message = `what it runs cannot be read through the hub's cluster proxy: ${explain(error)}`;
      notes.push(`${cluster}: ${message}`);
      // Whatever is there, it is not nothing: no instance may be planned into it.
      observations[cluster] = { kind: "unreachable", message };
    }
  }
  return { baselines, observations };
}

async function liveObject(
  hub: Hub,
  cluster: string,
  { apiVersion, kind, namespace, name }: ObjectRef,
): Promise<KubeObject> {
  const member = hub.client.below("apis", "cluster.karmada.io", "v1alpha1", "clusters", cluster, "proxy");
  const resource = await member.discovery.resource(apiVersion, kind, hub.request);
  return member.get(resource, { namespace, name }, hub.request);
}
