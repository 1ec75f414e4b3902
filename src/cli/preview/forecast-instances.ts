import { type ClusterEntry, type Ledger, localName, type StepKind } from "../../plan/index.ts";

/** The instances that a step touches, in the order in which it does. */
export function touchedBy(step: StepKind, cluster: string, before: Ledger, after: Ledger): string[] {
  const { identity } = after;
  const now = after.clusters[cluster];
  if (!identity || !now) return [];
  return ordinalsOf(step, before.clusters[cluster], now).map((ordinal) => localName(identity, now, ordinal));
}

function ordinalsOf(step: StepKind, was: ClusterEntry | undefined, now: ClusterEntry): number[] {
  const ordinals = now.instances.map(({ ordinal }) => ordinal);
  switch (step) {
    case "update":
    case "rollback": {
      const { grant } = now;
      if (!grant) return [];
      // Inside one revision only those that were kept back so far.
      const kept = was?.grant?.revision === grant.revision ? was.grant.partition : ordinals.length;
      return ordinals.slice(grant.partition, kept).reverse();
    }
    case "deploy":
    case "grow": {
      const held = new Set(was?.instances.map(({ ordinal }) => ordinal));
      return ordinals.filter((ordinal) => !held.has(ordinal));
    }
    case "shrink": {
      const stays = new Set(now.instances.filter(({ state }) => state !== "leaving").map(({ ordinal }) => ordinal));
      const leaves = (was?.instances ?? []).filter(({ ordinal, state }) => state !== "leaving" && !stays.has(ordinal));
      return leaves.map(({ ordinal }) => ordinal).reverse();
    }
    case "adopt":
      return ordinals;
    case "transfer":
      return [];
  }
}
