import type { ClusterName, RollingUpdate } from "../../../types/index.ts";
import { allowedBy } from "../person.ts";
import { begins } from "./order.ts";
import { broken, changedGrants, type DeedProperty, type PlanProperty, type Verdict } from "./property.ts";

// What a setting says, taken by its word.

export const windowHolds: PlanProperty = {
  on: "plan",
  rule: "U3 W7",
  name: "while no maintenance window is open no cluster begins its update, unless a person promotes it",
  check: (planned) => {
    const { update, requests } = planned.before.intent;
    if (update.type !== "RollingUpdate" || update.window.open) return "quiet";
    const begun = begins(planned);
    const { promotion } = requests;
    const promoted = promotion?.window === true && promotion.revision === planned.result.ledger.rollout?.to;
    return begun.length > 0 && !promoted ? broken(`${begun} begin although the window is closed`) : "danger";
  },
};

export const cordonHolds: PlanProperty = {
  on: "plan",
  rule: "S11 D4",
  name: "a cordoned cluster gets no new instance",
  check: (planned) => {
    const { fleet } = planned.before.intent;
    let verdict: Verdict = "quiet";
    const isCordoned = (cluster: ClusterName) => {
      const fact = fleet[cluster];
      return fact?.state === "Ready" && fact.cordoned !== undefined;
    };
    for (const cluster of Object.keys(fleet)) if (isCordoned(cluster)) verdict = "danger";
    for (const { grant, was } of changedGrants(planned)) {
      if (isCordoned(grant.cluster) && grant.replicas > (was?.replicas ?? 0))
        return broken(`${grant.cluster} is cordoned and is to grow to ${grant.replicas}`);
    }
    return verdict;
  },
};

export const roomHolds: PlanProperty = {
  on: "plan",
  rule: "S18",
  name: "a cluster gets no more new instances than fit into it",
  check: (planned) => {
    const { fleet } = planned.before.intent;
    const roomIn = (cluster: ClusterName) => {
      const fact = fleet[cluster];
      return fact?.state === "Ready" ? fact.room?.instances : undefined;
    };
    const isKnown = Object.keys(fleet).some((cluster) => roomIn(cluster) !== undefined);
    for (const { grant, was } of changedGrants(planned)) {
      const room = roomIn(grant.cluster);
      const added = grant.replicas - (was?.replicas ?? 0);
      if (room !== undefined && added > 0 && added > room)
        return broken(`${grant.cluster} has room for ${room} and is to grow by ${added}`);
    }
    return isKnown ? "danger" : "quiet";
  },
};

export const unknownScalesNothing: PlanProperty = {
  on: "plan",
  rule: "S1",
  name: "while the schedule is unknown nothing grows, shrinks or is drained",
  check: (planned) => {
    const { schedule, deletion } = planned.before.intent;
    if (schedule.kind === "known" || deletion) return "quiet";
    const scaled = changedGrants(planned).find(({ grant, was }) => grant.replicas !== was?.replicas);
    return scaled ? broken(`${scaled.grant.cluster} goes to ${scaled.grant.replicas} instances`) : "danger";
  },
};

/** [U7] How many instances may be released before the present batch is complete. */
function ceilingOf({ batches }: RollingUpdate, complete: number): number {
  let ceiling = 0;
  for (let i = 0; ceiling <= complete; i++) ceiling += Math.max(1, batches[Math.min(i, batches.length - 1)] ?? 1);
  return ceiling;
}

export const batchesHold: PlanProperty = {
  on: "plan",
  rule: "U7",
  name: "no more is released than the batches so far, and the next begins when all of them is complete",
  check: ({ before, result }) => {
    const { update, workload } = before.intent;
    const { rollout } = result.ledger;
    if (update.type !== "RollingUpdate" || update.batches.length === 0 || rollout?.kind !== "update") return "quiet";
    // A cluster that cannot be released in part makes a batch larger.
    if (!workload.hasPartition) return "quiet";
    let released = 0;
    let complete = 0;
    let more = false;
    for (const [cluster, { grant, done, presence, votes }] of Object.entries(result.ledger.clusters)) {
      if (!grant || grant.revision !== rollout.to || grant.onDelete || presence.kind === "lost" || votes !== "counted")
        continue;
      released += grant.replicas - grant.partition;
      const was = before.ledger.clusters[cluster]?.grant;
      const goesOn = was?.replicas === grant.replicas && was.revision === rollout.to && was.partition > grant.partition;
      // A cluster that continues has completed its previous grant.
      if (goesOn) complete += was.replicas - was.partition;
      else if (done) complete += grant.replicas - grant.partition;
      if (goesOn || (was?.replicas === grant.replicas && was.revision !== rollout.to)) more = true;
    }
    if (!more) return "quiet";
    const ceiling = ceilingOf(update, complete);
    return released > ceiling ? broken(`${released} are released, ${complete} complete: ${ceiling} may be`) : "danger";
  },
};

export const soakHolds: PlanProperty = {
  on: "plan",
  rule: "W4 W7",
  name: "a wave is left only after it has been complete and healthy for soakSeconds, or when a person promotes it",
  check: ({ before, result }) => {
    const { update, requests } = before.intent;
    const was = before.ledger.rollout;
    const is = result.ledger.rollout;
    if (update.type !== "RollingUpdate" || was?.kind !== "update" || is?.to !== was.to || is.wave <= was.wave)
      return "quiet";
    const soakMs = (update.waves[was.wave]?.soakSeconds ?? 0) * 1000;
    if (soakMs === 0) return "quiet";
    const { promotion } = requests;
    if (promotion?.revision === is.to && promotion.wave === was.wave) return "danger";
    const soakedMs = was.soakSinceMs === null ? 0 : before.nowMs - was.soakSinceMs;
    return soakedMs < soakMs ? broken(`wave ${was.wave + 1} soaked for ${soakedMs} of ${soakMs} ms`) : "danger";
  },
};

export const haltHolds: PlanProperty = {
  on: "plan",
  rule: "F1",
  name: "a reported failure halts the rollout or rolls it back, and no cluster begins while it is halted",
  check: (planned) => {
    const { before, observations, result } = planned;
    const { halt, override, rollout } = result.ledger;
    if (halt) {
      const begun = begins(planned);
      return begun.length > 0 ? broken(`${begun} begin although the rollout is halted`) : "danger";
    }
    if (before.intent.deletion || before.intent.revision.kind === "missing") return "quiet";
    for (const [cluster, { grant, turn, step, done }] of Object.entries(result.ledger.clusters)) {
      const seen = observations.clusters[cluster];
      if (seen?.kind !== "present" || before.intent.fleet[cluster]?.state !== "Ready") continue;
      if (seen.report?.phase !== "Failed" || seen.report.epoch !== grant?.epoch) continue;
      if (step?.kind !== "update" || turn !== "held" || done || grant.revision !== rollout?.to) continue;
      if (override?.cause !== "failure") return broken(`${cluster} has failed, and the rollout continues`);
    }
    return "quiet";
  },
};

export const overrideHolds: PlanProperty = {
  on: "plan",
  rule: "F6",
  name: "what was undone or rejected stays so while the template's own content is the same",
  check: (planned) => {
    const { intent, ledger } = planned.before;
    const { revision, requests, deletion } = intent;
    const { override, undoHeard } = ledger;
    if (!override || deletion || revision.kind === "missing") return "quiet";
    if (requests.undo && requests.undo.id !== undoHeard) return "quiet";
    const { digest, restart } = revision.own ?? { digest: revision.id, restart: "" };
    if (override.digest !== digest) return "quiet";
    const begun = changedGrants(planned).find(({ grant, was }) => {
      const isBack = grant.revision === revision.id || grant.revision === override.template;
      return isBack && grant.revision !== was?.revision && grant.revision !== override.to;
    });
    if (begun) return broken(`${begun.grant.cluster} gets ${begun.grant.revision}, which was undone`);
    return revision.id !== override.template || restart !== override.restart ? "danger" : "quiet";
  },
};

export const onDeleteRestartsNothing: DeedProperty = {
  on: "deed",
  rule: "U11",
  name: "with OnDelete no ready instance is taken down for a revision",
  check: (deed, before) => {
    if (before.intent.update.type !== "OnDelete") return "quiet";
    if (deed.kind === "down" && deed.cause === "update")
      return broken(`${deed.cluster} takes ${deed.ordinal} down for a revision`);
    // Another actor took one down, and it comes back on the granted revision.
    return deed.kind === "created" ? "danger" : "quiet";
  },
};

export const reassertsSparingly: PlanProperty = {
  on: "plan",
  rule: "G8",
  name: "an object that another client changed is written again at most once in 60 s per cluster",
  check: ({ before, result }) => {
    let verdict: Verdict = "quiet";
    for (const { cluster, kind } of result.steps) {
      const was = before.ledger.clusters[cluster];
      if (kind !== "reassert" || !was) continue;
      verdict = "danger";
      const sinceMs = was.reassertedAtMs === null ? Number.POSITIVE_INFINITY : before.nowMs - was.reassertedAtMs;
      const undelivered = was.ackedAtMs === null && before.nowMs - was.writtenAtMs >= 300_000;
      if (sinceMs < 60_000 && !undelivered) return broken(`${cluster} is written again after ${sinceMs} ms`);
    }
    return verdict;
  },
};

export const figuresAreTrue: PlanProperty = {
  on: "plan",
  rule: "R3 Q1 Q10",
  name: "the figures are those of the ledger: voters, majority, what is granted, what may be unavailable",
  check: ({ before, result }) => {
    const { figures, ledger } = result;
    let voters = 0;
    let granted = 0;
    for (const { instances, votes, grant } of Object.values(ledger.clusters)) {
      if (votes === "counted") voters += instances.length;
      granted += grant?.replicas ?? 0;
    }
    const majority = Math.floor(voters / 2) + 1;
    const told =
      `${figures.voters}/${figures.majority}/${figures.granted}/` +
      `${figures.notFaultTolerant}/${figures.currentRevision}`;
    const computed = `${voters}/${majority}/${granted}/${voters === 1 || voters === 2}/${ledger.currentRevision}`;
    if (told !== computed) return broken(`the figures say ${told}, the ledger ${computed}`);
    if (before.intent.schedule.kind === "known" && figures.maxUnavailable !== allowedBy(before.intent))
      return broken(`${figures.maxUnavailable} may be unavailable, ${allowedBy(before.intent)} by the setting`);
    return "danger";
  },
};
