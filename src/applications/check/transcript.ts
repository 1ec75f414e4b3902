/**
 * Plays a transcript: lines of what happens, and after `----` what the planner decided. Commands: `clusters A B`, `set
 * KEY=VALUE`, `revision ID OBJECTS`, `want ID`, `run` (everything healthy until nothing moves), `plan`, `lose C`,
 * `return C`, `sick C/OBJECT`, `short C/OBJECT` (one replica is not ready), `well C/OBJECT`, `fail C/HOOK` (the hook
 * fails, and its object is deleted), `wait SECONDS`, `undo ID`, `resume`, `divide KEY TOTAL`, `schedule C=N...` (what
 * another scheduler divides, or `schedule unknown`), `choose C...`, `keep C...` (chosen, and not selected by the
 * engine), `delete POLICY`.
 */
import { emptyLedger } from "../ledger.ts";
import { plan } from "../plan.ts";
import { hookEpoch, type Placed, stagesOf } from "../stages.ts";
import type {
  ClusterSeen,
  Divided,
  Division,
  Intent,
  Ledger,
  ObjectSeen,
  PlanResult,
  RolloutSettings,
} from "../types.ts";

const SECOND_MS = 1000;
const RUN_MAX = 60;
/** Replicas of a workload that is not divided. */
const WHOLE = 3;

export class Transcript {
  #ledger: Ledger = emptyLedger();
  #nowMs = 0;
  #fleet: string[] = [];
  #chosen: string[] = [];
  #kept: string[] = [];
  readonly #lost = new Map<string, number>();
  readonly #sick = new Set<string>();
  readonly #short = new Set<string>();
  readonly #failing = new Set<string>();
  readonly #revisions = new Map<string, Placed[]>();
  #wanted = "";
  #undo: { id: string; to: string } | undefined;
  #resumed: string | undefined;
  #ending: "Teardown" | "Release" | undefined;
  #divided: Divided[] = [];
  #settings: Record<string, string> = {};
  /** What each cluster has: content and epoch by object, and the replicas of divided workloads. */
  readonly #members = new Map<string, Map<string, { revision: string; epoch: number }>>();

  play(text: string): string {
    const out: string[] = [];
    let isAnswer = false;
    for (const line of text.split("\n")) {
      if (line === "----") isAnswer = true;
      else if (line === "") isAnswer = false;
      if (isAnswer) continue;
      out.push(line);
      if (line === "" || line.startsWith("#")) continue;
      const answer = this.#command(line.split(" "));
      if (answer.length > 0) out.push("----", ...answer);
    }
    return out.join("\n");
  }

  #command([verb = "", ...rest]: string[]): string[] {
    const [first = ""] = rest;
    switch (verb) {
      case "clusters":
        this.#fleet = rest;
        this.#chosen = rest;
        return [];
      case "choose":
        this.#chosen = rest;
        this.#kept = [];
        return [];
      case "keep":
        this.#kept = rest;
        return [];
      case "set":
        for (const pair of rest) this.#settings[pair.split("=")[0] ?? ""] = pair.split("=")[1] ?? "";
        return [];
      case "revision":
        this.#revisions.set(first, rest.slice(1).map(placed));
        return [];
      case "want":
        this.#wanted = first;
        return [];
      case "undo":
        this.#undo = { id: `${this.#nowMs}`, to: first };
        return [];
      case "resume":
        this.#resumed = `${this.#nowMs}`;
        return [];
      case "lose":
        this.#lost.set(first, this.#nowMs);
        return [];
      case "return":
        this.#lost.delete(first);
        return [];
      case "sick":
        for (const each of rest) this.#sick.add(each);
        return [];
      case "short":
        for (const each of rest) this.#short.add(each);
        return [];
      case "fail":
        for (const each of rest) this.#failing.add(each);
        return [];
      case "well":
        for (const each of rest) this.#sick.delete(each);
        for (const each of rest) this.#short.delete(each);
        for (const each of rest) this.#failing.delete(each);
        return [];
      case "wait":
        this.#nowMs += Number(first) * SECOND_MS;
        return [];
      case "divide":
        this.#divided = [
          {
            key: `Deployment/${first}`,
            object: `Deployment/${first}`,
            total: Number(rest[1]),
            failover: { afterSeconds: 60, unhealthyAfterSeconds: 300 },
          },
        ];
        return [];
      case "schedule":
        this.#divided = this.#divided.map((workload) => ({ ...workload, division: division(rest) }));
        return [];
      case "delete":
        this.#ending = first === "Release" ? "Release" : "Teardown";
        return [];
      case "plan":
        return this.#run(1);
      case "run":
        return this.#run(RUN_MAX);
      default:
        throw new Error(`transcripts know no '${verb}'`);
    }
  }

  #run(limit: number): string[] {
    const out: string[] = [];
    for (let turn = 0; turn < limit; turn++) {
      const before = this.#ledger;
      const result = plan(this.#intent(), before, { fleet: this.#facts(), clusters: this.#seen() }, this.#nowMs);
      this.#ledger = result.ledger;
      out.push(...this.#changes(before, result));
      this.#deliver(result);
      const isSame = JSON.stringify(before) === JSON.stringify(result.ledger);
      if (limit > 1 && !isSame) continue;
      out.push(...result.reasons.map(({ code, cluster, message }) => `${cluster ?? "*"} waits ${code}: ${message}`));
      if (result.requeueAt !== undefined) out.push(`* again in ${(result.requeueAt - this.#nowMs) / SECOND_MS} s`);
      if (result.finished) out.push("* finished");
      break;
    }
    return out;
  }

  #changes(before: Ledger, { ledger, releases }: PlanResult): string[] {
    const out: string[] = [];
    for (const [cluster, { grant, done, failed }] of Object.entries(ledger.clusters)) {
      const old = before.clusters[cluster];
      if (grant && grant.step !== old?.grant?.step) out.push(`${cluster} ${grant.mode} ${grant.revision}`);
      if (grant && grant.stage !== old?.grant?.stage) {
        const stage = this.#stages(grant.revision, grant.mode)[grant.stage];
        if (stage) out.push(`${cluster} at ${stage.title}`);
      }
      for (const [key, replicas] of Object.entries(grant?.replicas ?? {})) {
        if (old?.grant?.replicas[key] !== replicas) out.push(`${cluster} ${key} x ${replicas}`);
      }
      if (done && !old?.done) out.push(`${cluster} done on ${grant?.revision}`);
      if (failed !== null && (old?.failed ?? null) === null) out.push(`${cluster} failed`);
    }
    for (const cluster of Object.keys(before.clusters)) if (!ledger.clusters[cluster]) out.push(`${cluster} gone`);
    for (const cluster of releases) out.push(`${cluster} released`);
    if (ledger.currentRevision !== before.currentRevision) out.push(`* complete on ${ledger.currentRevision}`);
    if (ledger.override?.to !== before.override?.to && ledger.override) out.push(`* back to ${ledger.override.to}`);
    return out;
  }

  #stages(revision: string, mode: Parameters<Intent["stages"]>[2]) {
    return stagesOf(this.#revisions.get(revision) ?? [], mode, this.#settings.test === "Helm");
  }

  #intent(): Intent {
    const { maxUnavailableClusters = "1", soakSeconds = "0", paused, onFailure, waves = "", window } = this.#settings;
    const rollout: RolloutSettings = {
      maxUnavailableClusters: Number(maxUnavailableClusters),
      soakSeconds: Number(soakSeconds),
      paused: paused === "true",
      progressDeadlineSeconds: 600,
      onFailure: onFailure === "Rollback" ? "Rollback" : "Pause",
      window: { open: window !== "closed" },
      waves: waves
        .split(",")
        .filter(Boolean)
        .map((clusters) => ({ clusters: clusters.split("+"), soakSeconds: 0, approval: "Automatic" as const })),
    };
    return {
      revision:
        this.#wanted === ""
          ? { kind: "pending", message: "the source is being rendered" }
          : { kind: "known", id: this.#wanted },
      clusters: {
        kind: "known",
        names: this.#chosen,
        kept: Object.fromEntries(this.#kept.map((cluster) => [cluster, "Placement zones does not select it"])),
      },
      leave: "Teardown",
      ...(this.#ending && { ending: this.#ending }),
      rollout,
      requests: {
        approvals: [],
        ...(this.#undo && { undo: this.#undo }),
        ...(this.#resumed !== undefined && { resumed: this.#resumed }),
      },
      divided: this.#divided,
      stages: (revision, _cluster, mode) => this.#stages(revision, mode),
    };
  }

  #facts() {
    return Object.fromEntries(
      this.#fleet.map((name) => {
        const sinceMs = this.#lost.get(name);
        return [name, sinceMs === undefined ? { state: "Ready" as const } : { state: "NotReady" as const, sinceMs }];
      }),
    );
  }

  #seen(): Record<string, ClusterSeen> {
    const clusters: Record<string, ClusterSeen> = {};
    for (const cluster of this.#fleet.filter((name) => !this.#lost.has(name))) {
      const grant = this.#ledger.clusters[cluster]?.grant;
      const objects = this.#members.get(cluster) ?? new Map<string, { revision: string; epoch: number }>();
      const own = new Set((this.#revisions.get(grant?.revision ?? "") ?? []).map(({ key }) => key));
      clusters[cluster] = {
        left: [objects.size],
        leftovers: [...objects.keys()].filter((key) => !own.has(key)).length,
        object: (key): ObjectSeen => {
          const found = objects.get(key);
          if (!grant || !own.has(key)) return { dispatched: "none", epoch: 0, live: { kind: "unknown" } };
          if (!found) return { dispatched: "none", epoch: 0, live: { kind: "absent" } };
          const isSick = this.#sick.has(`${cluster}/${key}`) || this.#sick.has(`${cluster}/${key}@${grant.revision}`);
          const isShort = this.#short.has(`${cluster}/${key}`);
          const ready = isSick ? 0 : (grant.replicas[key] ?? WHOLE) - Number(isShort);
          const isFailed = this.#failing.has(`${cluster}/${key}`);
          const health = isFailed ? "Failed" : isSick || isShort ? "Progressing" : "Complete";
          return {
            dispatched: "wanted",
            epoch: found.epoch,
            live: { kind: "present", epoch: found.epoch, observed: true, health, ready },
          };
        },
      };
    }
    return clusters;
  }

  /** Members do what they were granted at once, where they can be reached. */
  #deliver({ ledger, releases }: PlanResult): void {
    for (const [cluster, { grant }] of Object.entries(ledger.clusters)) {
      if (!grant || this.#lost.has(cluster)) continue;
      const objects = this.#members.get(cluster) ?? new Map<string, { revision: string; epoch: number }>();
      this.#members.set(cluster, objects);
      if (releases.includes(cluster)) {
        objects.clear();
        continue;
      }
      const stages = this.#stages(grant.revision, grant.mode);
      for (const [index, stage] of stages.entries()) {
        if (index > grant.stage) break;
        const { revision, step } = grant;
        if (stage.kind === "apply") for (const key of stage.objects) objects.set(key, { revision, epoch: step });
        if (index < grant.stage) continue;
        const failure = ledger.clusters[cluster]?.hookFailure;
        const hasFailed = failure?.step === step && failure.stage === index;
        if (stage.kind === "hook" && hasFailed) objects.delete(stage.object);
        else if (stage.kind === "hook") objects.set(stage.object, { revision, epoch: hookEpoch(stage, grant) });
        const own = new Set((this.#revisions.get(revision) ?? []).map(({ key }) => key));
        if (stage.kind === "prune") for (const key of [...objects.keys()]) if (!own.has(key)) objects.delete(key);
        if (stage.kind === "remove") objects.clear();
      }
    }
  }
}

/** `member1=4 member2=6`, or `unknown`. */
function division(shares: readonly string[]): Division {
  if (shares[0] === "unknown") return { kind: "unknown", message: "the scheduler has not seen it" };
  const pairs = shares.map((each) => each.split("="));
  return { kind: "known", shares: Object.fromEntries(pairs.map(([name = "", count]) => [name, Number(count)])) };
}

/** `Deployment/web`, or `Job/migrate:pre-upgrade:5` for a hook with its weight. */
function placed(text: string): Placed {
  const [key = "", event, weight = "0"] = text.split(":");
  const [kind = "", name = ""] = key.split("/");
  return {
    key,
    kind,
    name,
    ...(event !== undefined && { hook: { events: event.split("+"), weight: Number(weight) } }),
  };
}
