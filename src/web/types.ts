/**
 * What the page and the server exchange. Types only: the page is built from them without any code of the server.
 * Times are milliseconds since 1970, or RFC 3339 where a Kubernetes object has it that way.
 */

/** The kinds, by their short names: CrossClusterStatefulset, DistributedApplication, CrossClusterJob. */
export const TYPES = ["ccs", "dapp", "ccj"] as const;
export type AppType = (typeof TYPES)[number];

/** What a page shows. */
export interface ApplicationName {
  readonly type: AppType;
  readonly namespace: string;
  readonly name: string;
}

export type AppAddress = Omit<ApplicationName, "type">;

/** What a page watches. Overview: every application that the viewer may list, and the fleet. */
export type Topic =
  | ({ readonly kind: "application" } & ApplicationName)
  /** Without a namespace: all of them. */
  | { readonly kind: "overview"; readonly namespace?: string };

export const ACTIONS = ["pause", "resume", "approve", "promote", "abort", "undo", "retry"] as const;
export type ActionName = (typeof ACTIONS)[number];
export const CLUSTER_ACTIONS = ["drain", "undrain"] as const;
export type ClusterActionName = (typeof CLUSTER_ACTIONS)[number];

/** What a person saw of an object when they decided. The server refuses an act if what it depends on is not so now. */
export interface Seen {
  readonly uid: string;
  /** The revision that it is to run; absent: it has none. */
  readonly revision?: string;
  /** Where the rollout in progress started. */
  readonly from?: string;
  readonly wave?: number;
  /** What a promotion would go past. */
  readonly past: readonly ("soak" | "window")[];
  /** The number of a job's last attempt. */
  readonly attempt?: number;
}

export interface Act extends ApplicationName {
  readonly action: ActionName;
  readonly seen: Seen;
  /** For undo; absent: the previous revision. */
  readonly toRevision?: string;
  /** For approve. */
  readonly comment?: string;
}

export interface ClusterAct {
  readonly action: ClusterActionName;
  readonly cluster: string;
  /** Of the cluster that the person saw: another one may have joined under its name. */
  readonly uid: string;
}

/** The end of one pod's log. */
export interface LogsOf {
  readonly namespace: string;
  readonly cluster: string;
  readonly pod: string;
}

/** Which rollout: the last one to this revision. */
export interface RecordOf extends ApplicationName {
  readonly revision: string;
}

/** The pods of an application that are not ready, with their own words: a report, read when it is asked for. */
export interface PodReportsView {
  readonly atMs: number;
  readonly pods: readonly PodReportView[];
  /** What could not be read, and why. */
  readonly notes: readonly string[];
}

export interface PodReportView {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
  readonly message?: string;
  /** How its container ended the last time. */
  readonly last?: { readonly exitCode: number; readonly reason?: string; readonly finishedAt?: string };
  /** The last lines that it has written. */
  readonly log: readonly string[];
}

/** The pods of one workload in one cluster. */
export interface PodsOf {
  readonly namespace: string;
  readonly cluster: string;
  readonly kind: string;
  /** Of an attempt's work: its pods carry a label. Absent: the pods of an application, which the workload owns. */
  readonly group?: string;
  readonly name: string;
}

export interface SessionView {
  readonly user: string;
  /** The hub. */
  readonly server: string;
  readonly readOnly: boolean;
  /** How commands to paste begin, such as ./bin/lockstep. */
  readonly program: string;
  /** At the sign-in: the page keeps it for its own origin, and sends it with each request. */
  readonly key?: string;
}

export interface EvidenceView {
  readonly object: string;
  readonly field: string;
  readonly value: string;
  readonly since?: string;
}

/** The present wait, or that there is none. */
export interface WhyView {
  readonly reason?: string;
  /** What the reason means, in one line. */
  readonly meaning?: string;
  readonly cluster?: string;
  readonly sentence: string;
  readonly since?: string;
  readonly evidence: readonly EvidenceView[];
  /** Commands to paste. */
  readonly remedy: readonly string[];
  readonly needsPerson: boolean;
  /** `cluster: reason` of everything else that waits. */
  readonly others: readonly string[];
}

export interface InstanceView {
  readonly name: string;
  readonly ordinal?: number;
  /** Absent: not known. */
  readonly ready?: boolean;
  readonly terminating: boolean;
  readonly leader: boolean;
  /** Joining, Leaving or Unlisted. */
  readonly state?: string;
  /** Absent: not known. */
  readonly revision?: string;
  /** The pod's own reason why it is not ready. */
  readonly reason?: string;
}

export interface ClusterView {
  readonly name: string;
  readonly phase: string;
  readonly health: string;
  readonly leader: boolean;
  /** Whether a step runs there. */
  readonly isBusy: boolean;
  /** Open, Closed or Unknown; absent: it has no grant. */
  readonly gate?: string;
  readonly turn?: string;
  /** Absent: not known. */
  readonly ready?: number;
  readonly replicas: number;
  readonly revision?: string;
  readonly ordinals: string;
  readonly instances: readonly InstanceView[];
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
}

/** How many instances the application has, needs, and may lose. */
export interface QuorumView {
  readonly voters: number;
  readonly ready: number;
  readonly needed: number;
  /** By the rollout, at once. */
  readonly maxUnavailable: number;
  /** How many more may go down now without losing the majority. */
  readonly spare: number;
}

export interface RolloutView {
  readonly from?: string;
  readonly to?: string;
  readonly type?: string;
  readonly since?: string;
  readonly wave?: number;
  readonly waves: number;
  readonly awaitingApproval: boolean;
  readonly soakUntil?: string;
  readonly windowClosed: boolean;
}

/** One step that ran or runs in a cluster. */
export interface SpanView {
  readonly cluster: string;
  /** Updating, Deploying ... */
  readonly what: string;
  readonly why: string;
  readonly fromMs: number;
  /** Absent: it still runs. */
  readonly toMs?: number;
  /** It failed. */
  readonly isBad?: boolean;
}

/** Something that happened at one moment: a warning, a promotion, a moved leader. */
export interface NoteView {
  readonly atMs: number;
  readonly isWarning: boolean;
  readonly reason: string;
  readonly message: string;
}

/** A gate that held a cluster, or the whole rollout. */
export interface HoldView {
  /** Empty: the whole rollout. */
  readonly cluster: string;
  readonly reason: string;
  readonly why: string;
  readonly fromMs: number;
  /** Absent: it still holds. */
  readonly toMs?: number;
}

export interface TimelineView {
  readonly fromMs: number;
  readonly spans: readonly SpanView[];
  readonly holds: readonly HoldView[];
  readonly notes: readonly NoteView[];
  /** How many spans and holds were left out: there were too many to keep. */
  readonly dropped?: number;
  /** Why Events are missing: what only they say is not shown. */
  readonly problem?: string;
}

/** One entry of the plan ahead. */
export type AheadView =
  | {
      readonly kind: "step";
      readonly cluster: string;
      readonly step: string;
      readonly why: string;
      readonly instances: readonly string[];
      readonly ready: number;
      readonly needed: number;
      readonly expectedMs?: number;
    }
  | { readonly kind: "remove"; readonly cluster: string; readonly why: string }
  | { readonly kind: "otherwise"; readonly message: string }
  | { readonly kind: "wait"; readonly code: string; readonly message: string; readonly forMs: number }
  | { readonly kind: "person"; readonly code: string; readonly message: string; readonly remedy: string };

export interface DiffView {
  /** All clusters with this difference. */
  readonly clusters: readonly string[];
  readonly objects: readonly { readonly object: string; readonly change: string; readonly lines: readonly string[] }[];
}

export interface PlanView {
  readonly ahead: readonly AheadView[];
  readonly blockedBy: readonly { readonly code: string; readonly message: string; readonly remedy: string }[];
  readonly diffs: readonly DiffView[];
  /** How many steps and differences were too many for a page. */
  readonly hidden?: number;
  /** Why there is no plan. */
  readonly problem?: string;
  /** Why there are no differences. */
  readonly diffsProblem?: string;
}

/** The last rollout to one revision, as the controller has kept it. */
export interface RecordView {
  readonly revision: string;
  /** Deploy, Update or RollBack. */
  readonly type: string;
  readonly from?: string;
  readonly timeline: TimelineView;
}

export interface RevisionView {
  readonly revision: string;
  /** Whether its rollout can be replayed. */
  readonly hasRecord: boolean;
  readonly number: number;
  readonly createdAt?: string;
  readonly cause?: string;
  readonly promoted?: string;
  /** What it changed, compared with the one before it; absent: not known. */
  readonly changes?: readonly string[];
  readonly state: readonly ("current" | "being rolled out" | "rejected")[];
}

/** What the viewer could do now. `allowed: false` says why in `reason`. */
export interface ActionView {
  readonly action: ActionName;
  /** Of an undo. */
  readonly toRevision?: string;
  readonly allowed: boolean;
  readonly reason?: string;
  /** What happens, for the confirmation. */
  readonly consequence: string;
  /** The same on the command line. */
  readonly command: string;
}

/** Everything that a page shows of one application, from one moment. */
export interface ApplicationView extends ApplicationName {
  readonly atMs: number;
  readonly resourceVersion: string;
  /** An act on what is shown sends it back. */
  readonly seen: Seen;
  readonly kind: string;
  /** Whether the status refers to the current spec. */
  readonly isCurrent: boolean;
  readonly phase: string;
  readonly desired: number;
  readonly updated: number;
  readonly currentRevision?: string;
  readonly updateRevision?: string;
  readonly rejectedRevision?: string;
  readonly leader?: { readonly cluster: string; readonly instance?: string };
  readonly quorum: QuorumView;
  readonly paused: boolean;
  readonly rollout?: RolloutView;
  readonly why: WhyView;
  readonly clusters: readonly ClusterView[];
  readonly timeline: TimelineView;
  readonly plan: PlanView;
  readonly history: readonly RevisionView[];
  readonly actions: readonly ActionView[];
}

/** One cluster of a DistributedApplication. */
export interface PartView {
  readonly name: string;
  readonly phase: string;
  readonly revision?: string;
  readonly deployed?: string;
  /** Where it is inside the revision, for example objects (3 of 5). */
  readonly stage?: string;
  readonly objects: number;
  readonly ready: number;
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
}

/** One object of a DistributedApplication. */
export interface ObjectView {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly clusters: number;
  /** The worst of all clusters. */
  readonly health: string;
  readonly message?: string;
}

/** A workload whose replicas are divided over the clusters. */
export interface WorkloadView {
  readonly kind: string;
  readonly name: string;
  /** Absent: the status does not list it among the objects. */
  readonly namespace?: string;
  readonly total: number;
  readonly ready: number;
  readonly clusters: readonly {
    readonly name: string;
    readonly replicas: number;
    readonly ready: number;
    readonly lent: number;
  }[];
}

/** Everything that a page shows of one DistributedApplication, from one moment. */
export interface DistributionView extends ApplicationName {
  readonly atMs: number;
  readonly resourceVersion: string;
  /** An act on what is shown sends it back. */
  readonly seen: Seen;
  /** Such as: chart prometheus 25.8.0. */
  readonly source: string;
  readonly isCurrent: boolean;
  readonly phase: string;
  readonly revision?: string;
  readonly currentRevision?: string;
  readonly rejectedRevision?: string;
  readonly expiresAt?: string;
  readonly paused: boolean;
  readonly rollout?: Pick<RolloutView, "from" | "to" | "since" | "wave" | "waves">;
  readonly why: WhyView;
  readonly clusters: readonly PartView[];
  readonly objects: readonly ObjectView[];
  readonly workloads: readonly WorkloadView[];
  /** Clusters that follow, in order. */
  readonly plan: PlanView;
  readonly timeline: TimelineView;
  readonly happened: HappenedView;
  readonly history: readonly RevisionView[];
  readonly actions: readonly ActionView[];
}

/** What the hub's Events say, newest first. */
export interface HappenedView {
  readonly notes: readonly NoteView[];
  /** Why there are none, if the viewer may not read Events. */
  readonly problem?: string;
}

/** One attempt at the work, in one cluster. */
export interface AttemptView {
  readonly number: number;
  readonly cluster: string;
  /** The name of its object there. */
  readonly object?: string;
  /** Such as: indexes 0-3,7. */
  readonly work: string;
  readonly state: string;
  readonly fromMs?: number;
  /** Absent: it may still run. */
  readonly toMs?: number;
  /** Its cluster ends it by then, unless Lockstep extends it. */
  readonly deadlineMs?: number;
  readonly mayRunTwice?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Everything that a page shows of one CrossClusterJob, from one moment. */
export interface JobView extends ApplicationName {
  readonly atMs: number;
  readonly resourceVersion: string;
  /** An act on what is shown sends it back. */
  readonly seen: Seen;
  readonly kind: string;
  /** The API group of the kind; empty for Kubernetes' oldest kinds. */
  readonly group: string;
  readonly guarantee: string;
  readonly isCurrent: boolean;
  readonly phase: string;
  /** Absent: the work has no number of completions. */
  readonly completions?: number;
  readonly succeeded: number;
  readonly active: number;
  readonly failed: number;
  /** Ranges of indexes that are done, both ends included. */
  readonly done: readonly (readonly [number, number])[];
  readonly startTime?: string;
  readonly completionTime?: string;
  readonly why: WhyView;
  readonly attempts: readonly AttemptView[];
  readonly plan: PlanView;
  /** Its attempts. */
  readonly timeline: TimelineView;
  readonly happened: HappenedView;
  readonly actions: readonly ActionView[];
}

export interface ApplicationRow extends ApplicationName {
  readonly kind: string;
  readonly phase: string;
  readonly reason?: string;
  readonly message?: string;
  readonly since?: string;
  readonly needsPerson: boolean;
  /** Instances, objects or completions. */
  readonly ready: number;
  readonly desired: number;
  /** Instances, or an application's clusters. Absent: nothing is updated there. */
  readonly updated?: { readonly done: number; readonly of: number };
  /** Where it runs: instances, objects or attempts of a job. */
  readonly clusters: readonly { readonly name: string; readonly count: number }[];
  readonly step?: string;
}

export interface FleetCluster {
  readonly name: string;
  readonly uid: string;
  /** Ready, NotReady or Unknown. */
  readonly health: string;
  readonly message?: string;
  readonly since?: string;
  readonly version?: string;
  readonly region?: string;
  readonly nodes?: number;
  /** What is requested of what there is, as the engine reports it. */
  readonly load: readonly LoadView[];
  readonly taints: readonly string[];
  readonly draining: boolean;
}

export interface LoadView {
  /** cpu, memory or pods. */
  readonly resource: string;
  readonly used?: number;
  readonly of: number;
  /** For people, such as 3.5 of 8 cores. */
  readonly text: string;
}

/** In no order. */
export interface OverviewView {
  readonly atMs: number;
  readonly applications: readonly ApplicationRow[];
  readonly clusters: readonly FleetCluster[];
  /** Whether the viewer may drain clusters; absent: the hub does not say. */
  readonly mayDrain?: boolean;
  /** What the viewer may not read. */
  readonly problems: readonly string[];
}

/** What differs from the overview before it on the same stream: a thousand rows are sent once. */
export interface OverviewChanges extends Pick<OverviewView, "atMs" | "mayDrain" | "problems"> {
  /** The `atMs` of the overview that it changes; a page that has another one asks for all of it again. */
  readonly baseMs: number;
  /** New, or different. */
  readonly applications: readonly ApplicationRow[];
  readonly goneApplications: readonly ApplicationName[];
  readonly clusters: readonly FleetCluster[];
  readonly goneClusters: readonly string[];
}

/** What a live stream sends, each as one server-sent event with JSON data. */
export type LiveEvent =
  | { readonly event: "application"; readonly data: ApplicationView }
  | { readonly event: "distribution"; readonly data: DistributionView }
  | { readonly event: "job"; readonly data: JobView }
  | { readonly event: "overview"; readonly data: OverviewView }
  | { readonly event: "overview-changes"; readonly data: OverviewChanges }
  /** The hub cannot be read now; what was shown is old. `gone`: and waiting does not help. */
  | { readonly event: "trouble"; readonly data: { readonly message: string; readonly gone: boolean } }
  /** Proof that the connection works. */
  | { readonly event: "beat"; readonly data: { readonly atMs: number } }
  | { readonly event: "signed-out"; readonly data: { readonly message?: string } };
