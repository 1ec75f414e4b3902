/** What the operator says about its part of etcd. */
import {
  type Grant,
  type InstanceView,
  isJsonObject,
  type JsonObject,
  type MemberObject,
  type MemberReport,
  parseMemberReport,
  sameJson,
} from "lockstep/sdk";
import type { EtcdView } from "./etcd.ts";

/** A member list without news is confirmed again this often. */
const CONFIRM_MS = 10_000;

export interface Seen extends InstanceView {
  /** It answers for the majority; its pod may not be ready yet. */
  readonly takesPart: boolean;
  /** It did a moment ago, and its pod is still ready. */
  readonly tookPart: boolean;
}

/**
 * Which instances count as ready: those that take part, and that etcd itself lists as voters. While etcd elects a leader,
 * no instance takes part, and none of them is at fault: as many of those that run count as before, and the report is not
 * Done. The same applies to an instance that takes part again before its probe has noticed, and to one that has missed an
 * answer: on a busy machine one comes late, and if it counted as down, Lockstep would halt an update in which another
 * instance of this cluster restarts. If etcd does not show its members for longer, none counts.
 */
export function countServing(
  before: MemberReport | undefined,
  { epoch }: Grant,
  present: readonly Seen[],
  view: EtcdView | undefined,
  isElecting: boolean,
): { readonly serving: readonly Seen[]; readonly isCertain: boolean } {
  if (present.length === 0) return { serving: [], isCertain: true };
  const ready = present.filter(({ process }) => process === "ready");
  if (!view) {
    const running = present.filter(({ process }) => process === "ready" || process === "starting");
    const count = isElecting && before?.epoch === epoch ? Math.max(ready.length, before.ready) : 0;
    return { serving: running.slice(0, count), isCertain: false };
  }
  const voters = new Set(view.members.filter(({ isLearner }) => !isLearner).map(({ address }) => address));
  const serving = present.filter(({ address, takesPart, tookPart }) => (takesPart || tookPart) && voters.has(address));
  return { serving, isCertain: serving.length === ready.length };
}

/** Every address that the topology names, and those that an earlier one named until they have left etcd's list. */
export function allNamed(object: MemberObject, { topology }: Grant, view: EtcdView | undefined): string[] {
  const present = new Set(topology.flatMap(({ addresses }) => addresses));
  const earlier = namedIn(object).filter(
    (address) => !present.has(address) && (!view || view.members.some((each) => each.address === address)),
  );
  return [...present, ...earlier];
}

/** Whether the object says this already, and recently. */
export function isSaid(object: MemberObject, status: JsonObject, nowMs: number): boolean {
  const told = (value: unknown) => {
    const { crossCluster, ...rest } = isJsonObject(value) ? value : {};
    const { membersAt: _at, ...report } = isJsonObject(crossCluster) ? crossCluster : {};
    return { ...rest, crossCluster: Object.fromEntries(Object.entries(report).filter(([, each]) => each !== null)) };
  };
  if (!sameJson(told(object.status), told(status))) return false;
  const before = isJsonObject(object.status) ? object.status.crossCluster : undefined;
  const at = isJsonObject(before) && typeof before.membersAt === "string" ? Date.parse(before.membersAt) : undefined;
  return at === undefined || nowMs - at < CONFIRM_MS;
}

export function reportIn({ status }: MemberObject): MemberReport | undefined {
  return isJsonObject(status) ? parseMemberReport(status.crossCluster) : undefined;
}

export function namedIn({ status }: MemberObject): string[] {
  const named = isJsonObject(status) && Array.isArray(status.named) ? status.named : [];
  return named.filter((each) => typeof each === "string");
}
