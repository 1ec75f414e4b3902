/** How many more instances of an application fit into the quotas of its namespace in a cluster. Pure. */
import type { NamespaceLimits } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { Ledger } from "../../../plan/index.ts";
import type { Room } from "../../../rollout/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";
import { type Footprint, footprintOf } from "./footprint.ts";
import { type Moment, memberIn } from "./moment.ts";
import { amount, short, timesIn } from "./quantities.ts";
import type { KnownLimits } from "./quotas.ts";
import { lesserRoom } from "./room.ts";

/** What one instance is. */
interface InstanceShape {
  readonly template: KubeObject;
  /** What one instance requests, as the interpreter reads it. */
  readonly request: Readonly<Record<string, string>>;
}

/** Names that a quota may use for the same thing. */
const SAME_AS: Readonly<Record<string, string>> = {
  cpu: "requests.cpu",
  memory: "requests.memory",
  "ephemeral-storage": "requests.ephemeral-storage",
  "count/pods": "pods",
};

/** For every cluster whose limits were read. */
export function quotaRooms(
  shape: InstanceShape,
  limits: KnownLimits,
  ledger: Ledger,
  moment: Pick<Moment, "members">,
): Record<string, Room> {
  const rooms: Record<string, Room> = {};
  for (const [cluster, each] of limits) {
    const room = quotaRoom(each, shape, comingIn(cluster, ledger, moment));
    if (room) rooms[cluster] = room;
  }
  return rooms;
}

function comingIn(cluster: string, { clusters }: Ledger, moment: Pick<Moment, "members">): number {
  const granted = clusters[cluster]?.grant?.replicas ?? 0;
  const snapshot = memberIn(moment, cluster);
  if (snapshot.kind !== "present") return granted;
  // Without its pods, nothing is known of those that are missing.
  return snapshot.pods ? Math.max(0, granted - snapshot.pods.length) : 0;
}

/**
 * `coming`: instances that were granted and are not there yet, so that no quota counts them. Undefined: no quota limits
 * these instances. Volumes are not judged: an instance may find the claim of an earlier one.
 */
export function quotaRoom(limits: NamespaceLimits, shape: InstanceShape, coming: number): Room | undefined {
  const footprint = footprintOf(shape.template, shape.request, limits.limitRanges);
  if (footprint.refused !== undefined) return { instances: 0, evidence: footprint.refused };
  const rooms = limits.quotas.filter((quota) => applies(quota, footprint)).map((quota) => roomIn(quota, footprint));
  const least = rooms.reduce(lesserRoom, undefined);
  return least && { ...least, instances: Math.max(0, least.instances - coming) };
}

function roomIn({ metadata, spec, status }: KubeObject, { amounts, unstated }: Footprint): Room | undefined {
  const stated = isJsonObject(spec) ? quantitiesOf(spec.hard) : {};
  const [hard, used] = isJsonObject(status) ? [quantitiesOf(status.hard), quantitiesOf(status.used)] : [{}, {}];
  let least: Room | undefined;
  for (const [name, limit] of Object.entries(hard)) {
    const resource = SAME_AS[name] ?? name;
    const without = unstated[resource];
    if (without !== undefined) {
      const evidence = `ResourceQuota ${metadata.name} limits ${resource}, and container ${without} states none`;
      return { instances: 0, evidence };
    }
    // The lower one: a limit that was lowered counts before the quota's controller has seen it.
    const most = Math.min(amount(limit) ?? Number.NaN, amount(stated[name]) ?? Number.POSITIVE_INFINITY);
    const wanted = amounts[resource];
    const taken = amount(used[name]);
    if (wanted === undefined || wanted <= 0 || Number.isNaN(most) || taken === undefined) continue;
    const free = Math.max(0, most - taken);
    const evidence =
      `ResourceQuota ${metadata.name} leaves ${short(free)} of ${short(most)} ${name}, ` +
      `an instance takes ${short(wanted)}`;
    least = lesserRoom(least, { instances: timesIn(free, wanted), evidence });
  }
  return least;
}

/** A quota with a scope counts only some pods. Whether these are among them may not be known: then it is not judged. */
function applies({ spec }: KubeObject, { amounts }: Footprint): boolean {
  if (!isJsonObject(spec)) return false;
  if (spec.scopeSelector !== undefined) return false;
  const scopes = Array.isArray(spec.scopes) ? spec.scopes : [];
  const isBestEffort = !Object.keys(amounts).some((name) => name !== "pods");
  const holds: Readonly<Record<string, boolean>> = {
    NotTerminating: true,
    BestEffort: isBestEffort,
    NotBestEffort: !isBestEffort,
  };
  return scopes.every((scope) => typeof scope === "string" && holds[scope] === true);
}

function quantitiesOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
