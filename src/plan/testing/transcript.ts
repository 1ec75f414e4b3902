import { initialCluster, topologyView } from "../topology.ts";
import type { ClusterName, FleetFact, Grant, PlanResult, PresentObservation, RollingUpdate, Wave } from "../types.ts";
import { Bench } from "./bench.ts";
import { type EditableIntent, rollingUpdate, testIntent } from "./intent.ts";

/**
 * Plays a transcript: commands, a line of dashes, what came out. Lines before the dashes are:
 *
 *   set key=value ...             settings of the spec (see `settings` below); `template=B` edits the template
 *   cluster NAME replicas=N       schedules N instances there (0: no longer)
 *   fleet NAME STATE              Ready, NotReady, Unknown or Gone
 *   unreachable NAME / reachable NAME
 *   deliver [NAME ...]            the last grants arrive; nobody acts on them yet
 *   settle [NAME ...]             they arrive and are carried out (without names: everywhere)
 *   observe NAME key=value ...    what the snapshot says, by hand, until the next settle
 *   members NAME ...              the application's own member list, as of now
 *   running NAME replicas=N       the cluster runs the application without a grant
 *   leader [NAME ...]             those clusters, and no others, claim the leader
 *   request undo=ID:REV | approve=REV:WAVE | lost=NAME | drain=NAME | resume=STAMP
 *   wait SECONDS
 *   plan                          one plan; prints steps, actions and reasons
 *   run                           plan and settle until nothing starts; prints the steps of every round
 *   topology NAME                 what that cluster has been told
 *   figures
 */
export class Transcript {
  readonly bench: Bench;
  readonly #intent: EditableIntent;
  readonly #sizes = new Map<ClusterName, number>();
  #out: string[] = [];

  constructor() {
    this.#intent = testIntent({});
    this.bench = new Bench(this.#intent);
  }

  play(block: string): string {
    this.#out = [];
    for (const line of block.split("\n")) {
      const text = line.replace(/#.*$/, "").trim();
      if (text !== "") this.#command(text.split(/\s+/));
    }
    return this.#out.map((line) => `${line}\n`).join("");
  }

  #command([command, ...args]: string[]): void {
    const { bench } = this;
    const name = args[0] ?? "";
    switch (command) {
      case "set":
        for (const [key, value] of pairs(args)) this.#set(key, value);
        return;
      case "cluster":
        this.#schedule(name, Number(pairs(args.slice(1)).get("replicas") ?? 0));
        return;
      case "fleet":
        this.#intent.fleet[name] = this.#fleet(args[1] ?? "", pairs(args.slice(2)));
        return;
      case "unreachable":
        bench.unreachable.add(name);
        return;
      case "reachable":
        bench.unreachable.delete(name);
        return;
      case "deliver":
        bench.deliver(...args);
        return;
      case "settle":
        for (const member of bench.members.values()) member.overlay = {};
        bench.settle(...args);
        return;
      case "observe":
        this.#observe(name, pairs(args.slice(1)));
        return;
      case "members":
        bench.membership = { members: args, atMs: bench.nowMs };
        return;
      case "running":
        bench.member(name).runUnmanaged(Number(pairs(args.slice(1)).get("replicas") ?? 0));
        return;
      case "leader":
        for (const cluster of Object.keys(this.#intent.fleet)) {
          bench.member(cluster).leader = args.includes(cluster) ? { kind: "here" } : { kind: "elsewhere" };
        }
        this.#intent.workload = { ...this.#intent.workload, reportsLeader: true };
        return;
      case "request":
        for (const [key, value] of pairs(args)) this.#request(key, value);
        return;
      case "wait":
        bench.wait(Number(name));
        return;
      case "plan":
        this.#print(bench.plan(), true);
        return;
      case "run":
        this.#run();
        return;
      case "topology":
        this.#topology(name);
        return;
      case "figures":
        this.#figures();
        return;
      default:
        throw new Error(`unknown command '${command}'`);
    }
  }

  #schedule(cluster: ClusterName, replicas: number): void {
    this.#sizes.set(cluster, replicas);
    this.#intent.fleet[cluster] ??= { state: "Ready" };
    this.#intent.schedule = {
      kind: "known",
      source: "explicit",
      clusters: [...this.#sizes].map(([each, count]) => ({ cluster: each, replicas: count })),
    };
  }

  #fleet(state: string, more: ReadonlyMap<string, string>): FleetFact {
    const sinceMs = this.bench.nowMs;
    if (state === "Ready") return more.has("cordoned") ? { state, cordoned: more.get("cordoned") ?? "" } : { state };
    if (state === "NotReady" || state === "Unknown" || state === "Gone") return { state, sinceMs };
    throw new Error(`unknown fleet state '${state}'`);
  }

  #observe(cluster: ClusterName, values: ReadonlyMap<string, string>): void {
    const member = this.bench.member(cluster);
    const seen = member.observe(this.bench.nowMs);
    if (seen.kind !== "present") throw new Error(`${cluster} has no object to observe`);
    const number = (key: string, otherwise: number | undefined) => {
      const given = values.get(key);
      return given === undefined ? otherwise : given === "none" ? undefined : Number(given);
    };
    for (const key of ["replicas", "ready", "available", "updated", "terminating"] as const) {
      const given = number(key, member.counts[key]);
      if (given !== undefined) member.counts[key] = given;
    }
    if (values.has("ready") && !values.has("available")) member.counts.available = member.counts.ready;
    const health = values.get("health");
    if (health === "healthy" || health === "unhealthy" || health === "unknown") member.health = health;
    const phase = values.get("report");
    if (phase === "Working" || phase === "Done" || phase === "Failed") {
      const { updated, ready } = member.counts;
      const { epoch, revision, replicas } = this.#grant(cluster);
      member.report = { epoch: number("reported", epoch) ?? epoch, revision, phase, desired: replicas, updated, ready };
    }
    const live: Record<string, unknown> = { ...seen.live, ...member.overlay.live };
    for (const key of ["epoch", "partition", "topologyVersion"])
      if (values.has(key)) live[key] = number(key, undefined);
    if (values.has("revision")) live.revision = values.get("revision");
    if (values.has("processor")) live.processor = values.get("processor") === "true";
    if (values.has("specReplicas")) live.replicas = number("specReplicas", undefined);
    const overlay: { -readonly [K in keyof PresentObservation]?: PresentObservation[K] } = { ...member.overlay };
    if (
      ["epoch", "partition", "topologyVersion", "revision", "processor", "specReplicas"].some((key) => values.has(key))
    ) {
      overlay.live = live;
    }
    if (values.has("observed")) member.observedGeneration = number("observed", undefined);
    const pods = values.get("pods");
    if (pods !== undefined) {
      // pods=0:ready:old,1:broken:new
      member.instances = pods.split(",").map((pod) => {
        const [ordinal, state, revision] = pod.split(":");
        return {
          name: `${this.#intent.app.name}-${ordinal}`,
          uid: `uid-${ordinal}`,
          ordinal: Number(ordinal),
          updated: revision === "new",
          ready: state === "ready",
          terminating: state === "terminating",
        };
      });
    }
    member.overlay = overlay;
  }

  #grant(cluster: ClusterName): Grant {
    const found = this.bench.ledger.clusters[cluster]?.grant;
    if (!found) throw new Error(`${cluster} has no grant`);
    return found;
  }

  #set(key: string, value: string): void {
    const intent = this.#intent;
    const setting = settings[key];
    if (!setting) throw new Error(`unknown setting '${key}'`);
    setting(intent, value);
  }

  #request(key: string, value: string): void {
    const { requests } = this.#intent;
    const [first = "", second = ""] = value.split(":");
    switch (key) {
      case "undo":
        this.#intent.requests = { ...requests, undo: { id: first, to: second } };
        return;
      case "approve":
        this.#intent.requests = {
          ...requests,
          approvals: [...requests.approvals, { revision: first, wave: Number(second) }],
        };
        return;
      case "lost":
        this.#intent.requests = { ...requests, confirmedLost: [...requests.confirmedLost, first] };
        return;
      case "drain":
        this.#intent.requests = { ...requests, confirmedDrain: [...requests.confirmedDrain, first] };
        return;
      case "resume":
        this.#intent.requests = { ...requests, resume: first };
        return;
      default:
        throw new Error(`unknown request '${key}'`);
    }
  }

  #run(): void {
    for (let round = 0; round < 200; round++) {
      const result = this.bench.plan();
      if (result.steps.length === 0 && !result.actions.some(({ kind }) => kind === "remove")) {
        this.#print(result, true);
        return;
      }
      this.#print(result, false);
      this.bench.settle();
    }
    throw new Error("did not come to rest within 200 rounds");
  }

  #print(result: PlanResult, reasons: boolean): void {
    const changed = new Map<ClusterName, string>();
    for (const { cluster, kind, why } of result.steps) changed.set(cluster, `${kind}: ${why}`);
    for (const grant of result.grants) {
      const why = changed.get(grant.cluster);
      if (why !== undefined) this.#out.push(`${spell(grant)}  ${why}`);
    }
    for (const action of result.actions) {
      const detail =
        action.kind === "remove"
          ? ` volumes=${action.volumes}`
          : action.kind === "deletePods"
            ? ` ${action.pods.map(({ name, uid }) => `${name}/${uid ?? "?"}`).join(" ")}`
            : "";
      this.#out.push(`${action.cluster} action ${action.kind}${detail}`);
    }
    if (!reasons) return;
    for (const { cluster, code, message } of result.waiting)
      this.#out.push(`${cluster ?? "*"} waits ${code}: ${message}`);
    if (result.requeueAt !== undefined) this.#out.push(`* again in ${(result.requeueAt - this.bench.nowMs) / 1000} s`);
    if (result.steps.length === 0 && result.waiting.length === 0 && result.actions.length === 0)
      this.#out.push("at rest");
    if (result.finished) this.#out.push("finished");
  }

  #topology(cluster: ClusterName): void {
    const grant = this.#grant(cluster);
    const view = topologyView(this.bench.ledger, grant.topologyVersion);
    this.#out.push(`version ${view.version}`);
    for (const each of view.clusters) {
      this.#out.push(`${each.cluster}: ${each.instances.map((name, i) => `${name} ${each.states[i]}`).join(", ")}`);
    }
    this.#out.push(`initial-cluster-state ${grant.initialClusterState}`);
    for (const part of initialCluster(this.bench.ledger, grant).split(",")) this.#out.push(`  ${part}`);
  }

  #figures(): void {
    const figures = this.bench.last?.figures;
    for (const [key, value] of Object.entries(figures ?? {})) this.#out.push(`${key} ${value ?? "-"}`);
  }
}

function spell(grant: Grant): string {
  const { cluster, epoch, revision, replicas, partition, processor, topologyVersion, transferLeaderTo } = grant;
  const parts = [`${cluster} epoch=${epoch} revision=${revision} replicas=${replicas}`];
  if (partition > 0) parts.push(`partition=${partition}`);
  if (grant.onDelete) parts.push("onDelete");
  parts.push(`processor=${processor} topology=${topologyVersion}`);
  if (transferLeaderTo !== undefined) parts.push(`transferLeaderTo=${transferLeaderTo}`);
  return parts.join(" ");
}

function pairs(args: readonly string[]): Map<string, string> {
  return new Map(
    args.map((arg) => {
      const at = arg.indexOf("=");
      return at < 0 ? [arg, ""] : [arg.slice(0, at), arg.slice(at + 1)];
    }),
  );
}

function rolling(intent: EditableIntent, edit: Partial<RollingUpdate>): void {
  intent.update = rollingUpdate(intent.update.type === "RollingUpdate" ? { ...intent.update, ...edit } : edit);
}

/** waves=m1+m2/600/Manual,m3 */
function waves(text: string): Wave[] {
  return text.split(",").map((wave) => {
    const [clusters = "", soak = "0", approval = "Automatic"] = wave.split("/");
    return {
      clusters: clusters.split("+"),
      soakSeconds: Number(soak),
      approval: approval === "Manual" ? "Manual" : "Automatic",
    };
  });
}

function pick<const T extends string>(value: string, ...allowed: readonly T[]): T {
  const found = allowed.find((each) => each === value);
  if (found === undefined) throw new Error(`'${value}' is none of ${allowed.join(", ")}`);
  return found;
}

const settings: Readonly<Record<string, (intent: EditableIntent, value: string) => void>> = {
  template: (intent, value) => {
    intent.revision =
      value === "missing" ? { kind: "missing", message: "default/xline was not found" } : { kind: "ready", id: value };
  },
  pending: (intent, id) => {
    intent.revision = { kind: "pending", id, message: "the dry run has not answered" };
  },
  refused: (intent, id) => {
    intent.revision = { kind: "refused", id, message: "spec.volumeClaimTemplates: field is immutable" };
  },
  schedule: (intent, value) => {
    intent.schedule = { kind: "unknown", message: value };
  },
  protocol: (intent, value) => {
    intent.workload = { ...intent.workload, protocol: pick(value, "contract", "ignorant", "statefulset") };
  },
  memberPartition: (intent, value) => {
    intent.workload = { ...intent.workload, hasPartition: value === "true" };
  },
  memberOrdered: (intent, value) => {
    intent.workload = { ...intent.workload, memberOrdered: value === "true" };
  },
  mode: (intent, value) => {
    intent.identity = { ...intent.identity, mode: pick(value, "Blocks", "Dense", "PerCluster") };
  },
  blockSize: (intent, value) => {
    intent.identity = { ...intent.identity, blockSize: Number(value) };
  },
  reuseVolumes: (intent, value) => {
    intent.identity = { ...intent.identity, reuseVolumes: value === "true" };
  },
  clusterID: (intent, value) => {
    const [cluster = "", id = ""] = value.split(":");
    intent.identity = { ...intent.identity, clusterIds: { ...intent.identity.clusterIds, [cluster]: id } };
  },
  baseline: (intent, value) => {
    const [cluster = "", revision = "", replicas = "0", start = "0"] = value.split(":");
    intent.baselines[cluster] = { revision, replicas: Number(replicas), start: Number(start) };
    intent.fleet[cluster] ??= { state: "Ready" };
  },
  podManagementPolicy: (intent, value) => {
    intent.podManagementPolicy = pick(value, "OrderedReady", "Parallel");
  },
  quorum: (intent, value) => {
    intent.quorum = pick(value, "Majority", "None");
  },
  memberConcurrency: (intent, value) => {
    intent.memberConcurrency = pick(value, "Serial", "Parallel");
  },
  minReadySeconds: (intent, value) => {
    intent.minReadySeconds = Number(value);
  },
  assumeAfterSeconds: (intent, value) => {
    intent.assumeCompleteAfterSeconds = Number(value);
  },
  updateType: (intent, value) => {
    intent.update = value === "OnDelete" ? { type: "OnDelete" } : rollingUpdate();
  },
  partition: (intent, value) => rolling(intent, { partition: Number(value) }),
  maxUnavailable: (intent, value) =>
    rolling(intent, { maxUnavailable: value.endsWith("%") ? `${Number.parseFloat(value)}%` : Number(value) }),
  batches: (intent, value) => rolling(intent, { batches: value.split(",").map(Number) }),
  order: (intent, value) => rolling(intent, { order: pick(value, "LeaderLast", "Listed") }),
  leaderTransfer: (intent, value) => rolling(intent, { leaderTransfer: { timeoutSeconds: Number(value) } }),
  waves: (intent, value) => rolling(intent, { waves: waves(value) }),
  paused: (intent, value) => rolling(intent, { paused: value === "true" }),
  progressDeadlineSeconds: (intent, value) => rolling(intent, { progressDeadlineSeconds: Number(value) }),
  onFailure: (intent, value) => rolling(intent, { onFailure: pick(value, "Pause", "Rollback") }),
  window: (intent, value) => rolling(intent, { window: { open: value === "open" } }),
  failover: (intent, value) => {
    const [policy = "Wait", after = "300"] = value.split(":");
    intent.failover = { policy: pick(policy, "Wait", "Replace"), afterSeconds: Number(after) };
  },
  whenScaled: (intent, value) => {
    intent.retention = { ...intent.retention, whenScaled: pick(value, "Retain", "Delete") };
  },
  deletion: (intent, value) => {
    intent.deletion = { policy: pick(value, "Release", "Teardown") };
  },
};

/** Replays a whole file: each block is commands, "----", the output. Returns the file as it should be. */
export function replay(text: string): string {
  const transcript = new Transcript();
  const blocks = text.split(/\n\n+/).filter((block) => block.trim() !== "");
  return `${blocks
    .map((block) => {
      const [commands = ""] = block.split(/^----\n?/m);
      if (!/^----$/m.test(block)) {
        transcript.play(commands);
        return commands.trimEnd();
      }
      return `${commands}----\n${transcript.play(commands).trimEnd()}`;
    })
    .join("\n\n")}\n`;
}
