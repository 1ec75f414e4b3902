import type { AllowedClustersRule, RolloutApproval } from "../../../api/index.ts";
import type { MemberReport } from "../../../contract/index.ts";
import type { Snapshot } from "../../../engine/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import type { Intent, Ledger, Observation, Observations, RevisionIntent } from "../../../plan/index.ts";
import { WindowMemory } from "../../../rollout/index.ts";
import { dispatchSeen } from "../../common/dispatched.ts";
import type { HubReader } from "../../common/hub/hub-reader.ts";
import type { Reviser } from "../revise/revise.ts";
import type { Subject } from "../subject.ts";
import { type TopologyRefusal, topologyRefusal } from "./allowed-topology.ts";
import { type IntentFacts, intentOf, leaderSourceOf } from "./intent.ts";
import { leaderProblems } from "./leader-check.ts";
import { membershipOf } from "./membership.ts";
import { MissingClusters } from "./missing-clusters.ts";
import { type Moment, memberIn } from "./moment.ts";
import { instanceHomes, observe, reportIn } from "./observe.ts";
import { quotaRooms } from "./quota-room.ts";
import type { KnownLimits } from "./quotas.ts";
import { runningOf } from "./running.ts";
import { sizeIn } from "./template.ts";

export interface GathererOptions {
  readonly interpreter: Pick<Interpreter, "interpret" | "sourcesOf">;
  readonly reviser: Reviser;
  readonly approvals: { readonly of: (key: string) => readonly RolloutApproval[] };
  readonly hubObjects: HubReader;
  /** Which clusters a namespace may name in spec.topology; absent: all. */
  readonly allowedClusters?: AllowedClustersRule;
}

/** What is gathered about: the object and its template. */
export type GatheredSubject = Pick<Subject, "key" | "statefulset" | "app" | "template">;

/** All that a plan rests on, but for the ledger and the time. */
export interface Gathered {
  readonly intent: Intent;
  /** What the intent was put together from. */
  readonly facts: IntentFacts;
  readonly seen: Observations;
  /** Clusters that run what an earlier life of the application granted: they are taken over as they are. */
  readonly former: ReadonlySet<string>;
}

/**
 * Observe: puts together what was asked for and what every cluster shows, in the planner's words. The controller and
 * `lockstep plan` gather with this same code; they differ in where the moment, the hub's objects and the revisions are
 * from.
 */
export class Gatherer {
  readonly #options: GathererOptions;
  readonly #missing = new MissingClusters();
  readonly #windows = new WindowMemory();

  constructor(options: GathererOptions) {
    this.#options = options;
  }

  /**
   * `adopting`: clusters that the engine itself rendered the template for. `limits`: what was read of the namespace's
   * limits in clusters.
   */
  async gather(
    subject: GatheredSubject,
    ledger: Ledger,
    moment: Moment,
    adopting: ReadonlySet<string>,
    limits: KnownLimits = new Map(),
  ): Promise<Gathered> {
    const { approvals, interpreter, reviser } = this.#options;
    const { key, statefulset, template } = subject;
    const { nowMs } = moment;
    const counts = new Set(Object.values(ledger.clusters).flatMap(({ grant }) => (grant ? [grant.replicas] : [])));
    const made = await this.#revision(subject, ledger, moment, counts);
    const inForce = await reviser.inForce(key, statefulset, made, ledger, counts);
    const running = await runningOf({
      key,
      statefulset,
      ledger,
      moment,
      adopting,
      wanted: made,
      reviser,
      interpreter,
    });
    // What runs can be compared with what is asked for only once both are known.
    const revision = running.unread && made.kind === "ready" ? { ...made, ...running.unread } : made;
    const object = template.kind === "one" ? template.object : undefined;
    const settingProblems = leaderProblems(interpreter, statefulset, object);
    const size = object && sizeIn(interpreter, object);
    const facts: IntentFacts = {
      statefulset,
      template: object,
      templateReplicas: size?.replicas,
      ...(size && { instanceRequest: size.request }),
      quotaRooms: object && size ? quotaRooms({ template: object, request: size.request }, limits, ledger, moment) : {},
      ...(settingProblems.length > 0 && { settingProblems }),
      revision,
      inForce,
      schedule: moment.schedule,
      granted: grantedIn(ledger),
      topologyRefusal: this.#topologyRefusal(subject, moment),
      clusters: [...moment.clusters.values()],
      goneSinceMs: this.#missing.of(ledger, moment.clusters, nowMs),
      approvals: approvals.of(key),
      baselines: running.baselines,
      formerToken: running.formerToken,
      window: this.#windows.state(statefulset.spec.updateStrategy.rollingUpdate?.maintenanceWindows, nowMs),
      nowMs,
    };
    const intent = intentOf(facts);
    return { intent, facts, seen: this.#observe(subject, intent, ledger, moment), former: running.former };
  }

  #topologyRefusal({ key, statefulset }: GatheredSubject, { schedule }: Moment): TopologyRefusal | undefined {
    const { allowedClusters, hubObjects } = this.#options;
    // A deletion follows no topology.
    if (!allowedClusters || statefulset.metadata.deletionTimestamp !== undefined) return undefined;
    if (statefulset.spec.topology === undefined) return undefined;
    const { namespace: name } = statefulset.metadata;
    const namespace = hubObjects.get(key, { apiVersion: "v1", kind: "Namespace", namespace: "", name });
    const selected = schedule.kind === "known" ? schedule.clusters.map(({ cluster }) => cluster) : [];
    return topologyRefusal(statefulset, namespace, allowedClusters, selected);
  }

  #observe({ statefulset, app }: GatheredSubject, intent: Intent, ledger: Ledger, moment: Moment): Observations {
    const { interpreter } = this.#options;
    const scheduled = intent.schedule.kind === "known" ? intent.schedule.clusters.map(({ cluster }) => cluster) : [];
    const names = new Set([...Object.keys(ledger.clusters), ...scheduled, ...Object.keys(intent.baselines)]);
    const homes = instanceHomes(ledger);
    const observations: Record<string, Observation> = {};
    const reports: MemberReport[] = [];
    for (const cluster of names) {
      const snapshot = memberIn(moment, cluster);
      const report = reportIn(snapshot);
      if (report) reports.push(report);
      const context = {
        interpreter,
        cluster,
        leader: leaderSourceOf(statefulset),
        clusterOfInstance: (name: string) => homes.get(name),
        isCluster: (name: string) => names.has(name),
      };
      const isLetGo = isStrangers(snapshot) && isDrained(ledger.clusters[cluster]);
      observations[cluster] = isLetGo ? { kind: "absent" } : observe(snapshot, context, report);
    }
    const membership = intent.workload.protocol === "contract" ? membershipOf(reports, moment.nowMs) : undefined;
    const dispatch = dispatchSeen(moment.dispatched, app);
    return { clusters: observations, dispatch, ...(membership && { membership }) };
  }

  async #revision(
    { key, statefulset, template }: GatheredSubject,
    ledger: Ledger,
    moment: Moment,
    counts: ReadonlySet<number>,
  ): Promise<RevisionIntent> {
    if (template.kind !== "one") return { kind: "missing", message: template.message };
    const ready = [...moment.clusters.values()].filter(({ state }) => state === "Ready").map(({ name }) => name);
    const held = ready.filter((name) => ledger.clusters[name]?.grant);
    const setting = { dryRunIn: held.length > 0 ? held : ready, counts, override: ledger.override };
    return this.#options.reviser.revision(key, statefulset, template.object, moment, setting);
  }
}

/**
 * [S9] A drained cluster has nothing of the application's left, although another writer has created an object of the
 * same name meanwhile: that is not ours to remove, and waiting for its end could last forever.
 */
function isStrangers(snapshot: Snapshot): boolean {
  return snapshot.kind === "unreachable" && snapshot.isForeign === true;
}

function isDrained(entry: Ledger["clusters"][string] | undefined): boolean {
  return entry?.grant?.replicas === 0 && entry.done;
}

function grantedIn({ clusters }: Ledger): Record<string, number> {
  return Object.fromEntries(
    Object.entries(clusters).flatMap(([name, { grant }]) => (grant ? [[name, grant.replicas]] : [])),
  );
}
