import {
  type Grant,
  type Intent,
  type LeaderClaim,
  type Ledger,
  localName,
  type Observation,
  type PlanResult,
  type PresentObservation,
} from "../../plan/index.ts";
import { liveOf } from "./observations.ts";

/** One member that does what it is granted as soon as it is granted. */
interface Member {
  live: Grant | undefined;
  /** What it shows; atMs and leader are filled in when it is looked at. */
  shown: PresentObservation | undefined;
  unreachable: string | undefined;
}

/** Every member cluster of a forecast. Those that were granted nothing stay as they were found, also when unhealthy. */
export class ModelMembers {
  readonly #members = new Map<string, Member>();
  #leader: { readonly cluster: string; readonly instance?: string } | undefined;

  constructor(
    ledger: Ledger,
    found: Readonly<Record<string, Observation>>,
    leader: { readonly cluster: string; readonly instance?: string } | undefined,
  ) {
    this.#leader = leader;
    for (const [cluster, observation] of Object.entries(found)) {
      const grant = ledger.clusters[cluster]?.grant ?? undefined;
      this.#members.set(cluster, {
        live: observation.kind === "present" ? grant : undefined,
        shown: observation.kind === "present" ? observation : undefined,
        unreachable: observation.kind === "unreachable" ? observation.message : undefined,
      });
    }
  }

  /** Whether a cluster is Ready is decided by the fleet, not by the member. */
  observe(intent: Intent): Record<string, Observation> {
    const result: Record<string, Observation> = {};
    const names = new Set([...this.#members.keys(), ...Object.keys(intent.fleet)]);
    for (const cluster of names) {
      const member = this.#members.get(cluster);
      if (member?.unreachable !== undefined) {
        result[cluster] = { kind: "unreachable", message: member.unreachable };
      } else if (member?.shown) {
        result[cluster] = { ...member.shown, leader: this.#claim(cluster) };
      } else {
        result[cluster] = { kind: "absent" };
      }
    }
    return result;
  }

  /** Delivers what was planned, and completes it. Returns whether any member shows something else than before. */
  deliver({ grants, actions, ledger }: PlanResult): boolean {
    let moved = false;
    for (const action of actions) {
      if (action.kind !== "remove" || !this.#members.get(action.cluster)?.shown) continue;
      this.#members.set(action.cluster, { live: undefined, shown: undefined, unreachable: undefined });
      moved = true;
    }
    const removed = new Set(actions.flatMap((action) => (action.kind === "remove" ? [action.cluster] : [])));
    for (const grant of grants) {
      const member = this.#members.get(grant.cluster);
      if (removed.has(grant.cluster) || member?.unreachable !== undefined) continue;
      const entry = ledger.clusters[grant.cluster];
      const isNew = (member?.live?.epoch ?? 0) < grant.epoch;
      const unfinished = entry !== undefined && !entry.done;
      if (!isNew && !unfinished) continue;
      const shown = completed(grant, member?.shown);
      if (JSON.stringify(shown) === JSON.stringify(member?.shown)) continue;
      this.#members.set(grant.cluster, { live: grant, shown, unreachable: undefined });
      moved = true;
      if (grant.transferLeaderTo !== undefined) this.#moveLeader(grant.transferLeaderTo, ledger);
    }
    return moved;
  }

  #moveLeader(instance: string, ledger: Ledger): void {
    const { identity } = ledger;
    if (!identity) return;
    for (const [cluster, entry] of Object.entries(ledger.clusters)) {
      if (entry.instances.some(({ ordinal }) => localName(identity, entry, ordinal) === instance)) {
        this.#leader = { cluster, instance };
        return;
      }
    }
  }

  #claim(cluster: string): LeaderClaim {
    const leader = this.#leader;
    if (!leader) return { kind: "unknown" };
    if (leader.cluster !== cluster) return { kind: "elsewhere" };
    return { kind: "here", ...(leader.instance !== undefined && { instance: leader.instance }) };
  }
}

/** What a member shows that has done all of its grant. */
function completed(grant: Grant, before: PresentObservation | undefined): PresentObservation {
  const { epoch, revision, partition, replicas, onDelete } = grant;
  const updated = onDelete ? (before?.counts.updated ?? 0) : replicas - partition;
  return {
    kind: "present",
    generation: 1,
    observedGeneration: 1,
    live: liveOf(grant),
    counts: { replicas, ready: replicas, available: replicas, updated, terminating: 0 },
    health: "healthy",
    report: { epoch, revision, phase: "Done", desired: replicas, updated, ready: replicas },
    leader: { kind: "unknown" },
  };
}
