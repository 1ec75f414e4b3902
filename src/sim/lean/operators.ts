import { statefulSetDefaults } from "../../apiserver/index.ts";
import { ANNOTATIONS } from "../../contract/index.ts";
import { canonicalText, clone, isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { type Parts, topologyTold } from "../world/told.ts";
import type { LeanMember, Operator } from "./member.ts";
import type { StoredObject } from "./store.ts";

const NO_PARTS: Parts = new Map();

/** What the instances of this spec run, in one word. */
export function revisionOf(spec: JsonObject): string {
  if (!isJsonObject(spec.template)) return String(spec.image ?? "");
  const text = canonicalText(spec.template);
  const image = /"image":"([^"]+)"/.exec(text)?.[1] ?? "";
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return `${image.replaceAll(":", "-")}-${(hash >>> 0).toString(16)}`;
}

/** The same for a spec as a writer sends it: a StatefulSet's API server fills in defaults, which count. */
export function revisionAsSent(spec: JsonObject): string {
  if (!isJsonObject(spec.template)) return revisionOf(spec);
  const filled = clone({ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "" }, spec });
  statefulSetDefaults(filled);
  return revisionOf(filled.spec);
}

/** Kubernetes' StatefulSet controller: one pod at a time from the highest ordinal, partition, OrderedReady or Parallel. */
export const statefulSetController: Operator = {
  heedsTurns: false,
  sync(member, workload) {
    if (!workload) return;
    const spec = isJsonObject(workload.spec) ? workload.spec : {};
    const update = revisionOf(spec);
    member.currentRevision ??= update;
    const replicas = numberOf(spec.replicas);
    const start = isJsonObject(spec.ordinals) ? numberOf(spec.ordinals.start) : 0;
    const strategy = isJsonObject(spec.updateStrategy) ? spec.updateStrategy : {};
    const rolling = isJsonObject(strategy.rollingUpdate) ? strategy.rollingUpdate : {};
    const view: SetView = {
      member,
      update,
      current: member.currentRevision,
      ordinals: Array.from({ length: replicas }, (_, index) => start + index),
      partition: numberOf(rolling.partition),
      isOrdered: spec.podManagementPolicy !== "Parallel",
      onDelete: strategy.type === "OnDelete",
    };
    if (establish(view)) updateHighest(view);
    writeSetStatus(view, workload);
    member.labelLeader();
  },
};

interface SetView {
  readonly member: LeanMember;
  readonly update: string;
  readonly current: string;
  readonly ordinals: readonly number[];
  readonly partition: number;
  readonly isOrdered: boolean;
  readonly onDelete: boolean;
}

/** Whether every wanted pod exists, and no other. */
function establish({ member, ordinals, isOrdered, partition, current, update }: SetView): boolean {
  for (const [index, ordinal] of ordinals.entries()) {
    const pod = member.instances.get(ordinal);
    // A recreated pod has the revision of its ordinal, not the one that it had.
    if (!pod) member.start(ordinal, index < partition ? current : update, member.hadInstance(ordinal));
    if (isOrdered && pod?.state !== "ready") return false;
  }
  const condemned = [...member.instances.keys()].filter((ordinal) => !ordinals.includes(ordinal)).sort((a, b) => b - a);
  // A pod that is not ready is deleted only if no lower pod is in the same state.
  const firstBroken = condemned.findLast((ordinal) => member.instances.get(ordinal)?.state !== "ready");
  for (const ordinal of condemned) {
    const isBlocked = member.instances.get(ordinal)?.state !== "ready" && ordinal !== firstBroken;
    if (isOrdered && isBlocked) return false;
    member.stop(ordinal, "removal");
    if (isOrdered) return false;
  }
  return condemned.length === 0;
}

function updateHighest({ member, ordinals, partition, update, onDelete }: SetView): void {
  if (onDelete) return;
  for (const ordinal of ordinals.slice(partition).reverse()) {
    const pod = member.instances.get(ordinal);
    if (pod && pod.revision !== update && pod.state !== "terminating") {
      member.stop(ordinal, "update");
      return;
    }
    if (pod?.state !== "ready") return;
  }
}

function writeSetStatus({ member, update, ordinals, onDelete }: SetView, workload: StoredObject): void {
  const pods = [...member.instances.values()];
  const staying = pods.filter(({ state }) => state !== "terminating");
  // A terminating pod still answers, and Kubernetes counts it.
  const ready = pods.filter(({ ordinal }) => member.showsReady(ordinal)).length;
  const updated = staying.filter(({ revision }) => revision === update).length;
  const complete = pods.length === ordinals.length && updated === ordinals.length && ready === ordinals.length;
  if (complete && !onDelete) member.currentRevision = update;
  member.writeStatus({
    observedGeneration: workload.metadata.generation,
    replicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
    updatedReplicas: updated,
    currentRevision: member.currentRevision ?? update,
    updateRevision: update,
  });
}

/** What a custom operator has read, and acts on until it reads again. */
interface Reading {
  readonly generation: number;
  readonly epoch: number;
  readonly revisionId: string;
  readonly revision: string;
  readonly replicas: number;
  readonly partition: number;
  readonly processor: boolean;
  readonly transferLeaderTo: string | undefined;
  /** The ordinals that the topology gives this cluster; undefined: it counts by itself. */
  readonly ordinals: readonly number[] | undefined;
  /** Those that are already members of the application. */
  readonly members: readonly number[] | undefined;
}

/** An operator on the contract: acts on its turn, in small steps, and reports the epoch that it read. */
export const contractOperator: Operator = {
  heedsTurns: true,
  sync(member, workload) {
    if (!workload) return;
    const reading = read(member, workload);
    if (!reading) return;
    member.think(() => {
      const { transferLeaderTo: to } = reading;
      if (reading.processor && to !== undefined && !member.misbehaves) member.transferLeaderTo(to);
      const phase = member.misbehaves || !reading.processor ? "Done" : actOn(member, reading, true);
      if (!reading.processor) replaceLost(member, reading);
      if (isWhole(member, reading)) member.noteWhole();
      const all = [...member.instances.values()];
      const claims = member.misbehaves;
      const ready = claims ? reading.replicas : all.filter(({ up }) => up).length;
      const updated = claims ? reading.replicas : all.filter(({ revision }) => revision === reading.revision).length;
      member.writeStatus({
        observedGeneration: reading.generation,
        replicas: all.length,
        readyReplicas: ready,
        crossCluster: {
          epoch: reading.epoch,
          revision: reading.revisionId,
          phase,
          desired: reading.replicas,
          updated,
          ready,
          ...(member.reportedLeader !== undefined && { leader: member.reportedLeader }),
          ...member.reportedMembers,
        },
      });
      if (phase === "Working") member.wake();
    });
  },
};

/** An operator that does not know Lockstep: it carries out its spec. */
export const ignorantOperator: Operator = {
  heedsTurns: false,
  sync(member, workload) {
    if (!workload) return;
    const reading = read(member, workload);
    if (!reading) return;
    member.think(() => {
      const own: Reading = { ...reading, partition: 0, ordinals: undefined };
      const phase = actOn(member, own, !member.misbehaves);
      if (isWhole(member, own)) member.noteWhole();
      const all = [...member.instances.values()];
      const ready = all.filter(({ up }) => up).length;
      member.writeStatus({
        observedGeneration: reading.generation,
        replicas: all.length,
        ready,
        readyReplicas: ready,
        updatedReplicas: all.filter(({ revision }) => revision === reading.revision).length,
      });
      if (phase === "Working") member.wake();
    });
  },
};

/** Undefined: it refers to something that does not exist, and nothing may be done. */
function read(member: LeanMember, { metadata, spec: raw }: StoredObject): Reading | undefined {
  const spec = isJsonObject(raw) ? raw : {};
  const { annotations } = metadata;
  const topology = topologyTold(annotations, member.refersTo.length > 0 ? member.parts : NO_PARTS);
  if (topology === undefined && member.refersTo.length > 0) {
    const missing = member.refersTo.filter((name) => !member.parts.has(name));
    member.world.violated("an operator finds what its grant refers to", `${member.name} has no ${missing.join(", ")}`);
    return undefined;
  }
  return {
    generation: metadata.generation,
    epoch: numberOf(Number(annotations[ANNOTATIONS.epoch])),
    revisionId: annotations[ANNOTATIONS.revision] ?? "",
    revision: revisionOf(spec),
    replicas: numberOf(spec.replicas),
    partition: numberOf(Number(annotations[ANNOTATIONS.partition])),
    processor: annotations[ANNOTATIONS.processor] === "true",
    transferLeaderTo: annotations[ANNOTATIONS.transferLeaderTo],
    ordinals: ownOrdinals(member.name, topology, ["member", "joining"]),
    members: ownOrdinals(member.name, topology, ["member"]),
  };
}

/** All instances that it should have, up, on the revision that it should have, according to the current object. */
function isWhole(member: LeanMember, { generation, replicas, revision, partition }: Reading): boolean {
  const all = [...member.instances.values()].sort((a, b) => a.ordinal - b.ordinal);
  if (generation !== member.workload?.metadata.generation || all.length !== replicas) return false;
  return all.every((instance, at) => instance.up && (at < partition || instance.revision === revision));
}

/** One small action: a removal, an addition, or a restart; never two, unless the operator violates that. */
function actOn(member: LeanMember, reading: Reading, serial: boolean): "Working" | "Done" {
  const { replicas, partition, revision } = reading;
  const wanted = (reading.ordinals ?? Array.from({ length: replicas }, (_, index) => index)).slice(0, replicas);
  const surplus = [...member.instances.values()]
    .filter(({ ordinal, state }) => !wanted.includes(ordinal) && state !== "terminating")
    .sort((a, b) => b.ordinal - a.ordinal);
  member.dismissAllBut(wanted);
  const [last] = surplus;
  if (last) {
    member.stop(last.ordinal, "removal");
    return "Working";
  }
  const missing = wanted.find((ordinal) => !member.instances.has(ordinal));
  if (missing !== undefined) {
    member.start(missing, revision, member.hadInstance(missing));
    return "Working";
  }
  if (member.instances.size > wanted.length) return "Working";
  const stale = wanted.slice(partition).filter((ordinal) => member.instances.get(ordinal)?.revision !== revision);
  const isBroken = [...member.instances.values()].some((instance) => !instance.up && !stale.includes(instance.ordinal));
  if (isBroken && serial) return "Working";
  const down = stale.filter((ordinal) => !member.instances.get(ordinal)?.up);
  const next = down.length > 0 ? down.slice(-1) : stale.slice(-1);
  for (const ordinal of serial ? next : stale) member.restart(ordinal, revision);
  return stale.length > 0 || [...member.instances.values()].some(({ up }) => !up) ? "Working" : "Done";
}

/**
 * Without the turn, only a lost instance may be restored: one that the topology calls a member, and that does not
 * exist.
 */
function replaceLost(member: LeanMember, { ordinals, members, replicas, revision }: Reading): void {
  for (const ordinal of (ordinals ?? []).slice(0, replicas)) {
    if (!members?.includes(ordinal) || member.instances.has(ordinal)) continue;
    member.start(ordinal, member.lostRevision(ordinal) ?? revision, true);
  }
}

/** The ordinals of its own instances that are in one of the states; undefined: it has no topology. */
function ownOrdinals(cluster: string, topology: string | undefined, inStates: readonly string[]): number[] | undefined {
  if (topology === undefined) return undefined;
  const parsed: unknown = JSON.parse(topology);
  const own = Array.isArray(parsed)
    ? parsed.filter(isJsonObject).find((entry) => entry.cluster === cluster)
    : undefined;
  if (!own || !Array.isArray(own.ordinals) || !Array.isArray(own.states)) return [];
  const { ordinals, states } = own;
  return ordinals
    .filter((_ordinal, at) => inStates.includes(String(states[at])))
    .filter((ordinal) => typeof ordinal === "number");
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
