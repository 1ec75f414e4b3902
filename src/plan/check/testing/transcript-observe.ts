import type { Grant, InstanceObservation, LiveAnnotations, PresentObservation } from "../../types/index.ts";
import type { TestMember } from "./member.ts";

type Writable<T> = { -readonly [K in keyof T]: T[K] };

const COUNTS = ["replicas", "ready", "available", "updated", "terminating"] as const;

/**
 * What the next snapshots of a member say, by hand, until it settles again. `none` stands for unknown.
 *
 *   replicas= ready= available= updated= terminating=     counts
 *   health=healthy|unhealthy|unknown   observed=GENERATION
 *   report=Working|Done|Failed [reported=EPOCH]           what its operator reports
 *   epoch= revision= processor= partition= topologyVersion= specReplicas=     what the live object carries
 *   leader=here|elsewhere|unknown|said:NAME
 *   pods=0:ready:old,1:broken:new,2:terminating:old,3:evicted:old
 */
export function observeByHand(
  member: TestMember,
  values: ReadonlyMap<string, string>,
  context: { readonly app: string; readonly grant: () => Grant },
): void {
  const seen = member.observe();
  if (seen.kind !== "present") throw new Error("there is no object to observe");
  const number = (key: string): number | undefined => {
    const given = values.get(key);
    return given === undefined || given === "none" ? undefined : Number(given);
  };
  for (const key of COUNTS) {
    const given = number(key);
    if (given !== undefined) member.counts[key] = given;
  }
  if (values.has("ready") && !values.has("available")) member.counts.available = member.counts.ready;
  const health = values.get("health");
  if (health === "healthy" || health === "unhealthy" || health === "unknown") member.health = health;
  const phase = values.get("report");
  if (phase === "Working" || phase === "Done" || phase === "Failed") {
    const { updated, ready } = member.counts;
    const { epoch, revision, replicas } = context.grant();
    member.report = { epoch: number("reported") ?? epoch, revision, phase, desired: replicas, updated, ready };
  }
  if (values.has("observed")) member.observedGeneration = number("observed");
  const leader = values.get("leader");
  if (leader === "here" || leader === "elsewhere" || leader === "unknown") member.leader = { kind: leader };
  if (leader?.startsWith("said:")) member.leader = { kind: "unknown", said: leader.slice("said:".length) };
  const pods = values.get("pods");
  if (pods !== undefined) member.instances = pods.split(",").map((text) => readPod(context.app, text));
  const live = liveByHand(values, number);
  if (Object.keys(live).length > 0) member.overlay = { ...member.overlay, live: { ...seen.live, ...live } };
}

function liveByHand(
  values: ReadonlyMap<string, string>,
  number: (key: string) => number | undefined,
): Partial<PresentObservation["live"]> {
  const live: Writable<Partial<LiveAnnotations>> = {};
  const epoch = number("epoch");
  const partition = number("partition");
  const topologyVersion = number("topologyVersion");
  const replicas = number("specReplicas");
  const revision = values.get("revision");
  if (epoch !== undefined) live.epoch = epoch;
  if (partition !== undefined) live.partition = partition;
  if (topologyVersion !== undefined) live.topologyVersion = topologyVersion;
  if (replicas !== undefined) live.replicas = replicas;
  if (revision !== undefined) live.revision = revision;
  if (values.has("processor")) live.processor = values.get("processor") === "true";
  return live;
}

function readPod(app: string, text: string): InstanceObservation {
  const [ordinal, state, revision] = text.split(":");
  return {
    name: `${app}-${ordinal}`,
    uid: `uid-${ordinal}`,
    ordinal: Number(ordinal),
    updated: revision === "new",
    ready: state === "ready",
    terminating: state === "terminating" || state === "evicted",
    ...(state === "evicted" ? { disrupted: true } : {}),
  };
}
