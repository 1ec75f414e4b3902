/** For each reason: which facts prove it, and what a person can paste. A reason that is missing here does not compile. */
import type { ReasonCode } from "../plan/index.ts";

/** What the controller itself says when nothing can be planned or a write fails. */
export const CONTROLLER_REASONS = {
  InvalidSpec: "The CrossClusterStatefulset's spec is not valid; what runs goes on as it is.",
  HoldDefeated: "A setting lets the engine render the template by itself; nothing is granted until it is gone.",
  LedgerUnreadable: "The ledger object is there but cannot be read by this version; nothing is done.",
  DispatchFailed: "A grant could not be rendered for a cluster or written to the hub; that cluster keeps what it has.",
} as const;

export type AnyReason = ReasonCode | keyof typeof CONTROLLER_REASONS;

/** A group of facts that `why` shows as evidence. */
export type Proof =
  /** How many instances are there, ready and updated, against what was granted. */
  | "counts"
  /** Which write was granted, and which one the cluster shows. */
  | "epochs"
  /** What the hub says of the cluster. */
  | "cluster"
  /** The rollout's wave, soak and since when. */
  | "rollout"
  /** What halted it. */
  | "halt"
  /** The pause in the spec. */
  | "paused"
  /** Who leads. */
  | "leader"
  /** Ready instances, voters and their majority. */
  | "quorum"
  /** The revisions: current, wanted, rejected. */
  | "revisions"
  /** Failover settings. */
  | "failover";

export interface PasteFacts {
  /** `lockstep` or `kubectl lockstep`, to be followed by a command. */
  readonly program: string;
  readonly name: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly kind: string;
  readonly template: string;
  readonly selector: string;
}

export interface ReasonGuide {
  readonly proofs: readonly Proof[];
  /** True: it stays so until somebody does something. */
  readonly needsPerson: boolean;
  readonly paste: (facts: PasteFacts) => readonly string[];
}

const own =
  (command: string) =>
  ({ program, name, namespace }: PasteFacts) => [`${program} ${command} ${name} -n ${namespace}`];
const edit = ({ name, namespace }: PasteFacts) => [`kubectl edit ccs ${name} -n ${namespace}`];
const watch = own("status -w");
const template = ({ kind, template: name, namespace }: PasteFacts) => [
  `kubectl edit ${kind.toLowerCase()} ${name} -n ${namespace}`,
];
const member = ({ cluster, kind, template: name, namespace, selector }: PasteFacts) => [
  `kubectl --context ${cluster} -n ${namespace} get pods${selector === "" ? "" : ` -l ${selector}`}`,
  `kubectl --context ${cluster} -n ${namespace} describe ${kind.toLowerCase()} ${name}`,
];
const work = ({ cluster }: PasteFacts) => [
  `kubectl get works -n karmada-es-${cluster} -l lockstep.karmada.io/app`,
  `kubectl get cluster ${cluster}`,
];
const cluster = ({ cluster: name }: PasteFacts) => [`kubectl describe cluster ${name}`];
const confirmLost = ({ program, name, namespace, cluster: lost }: PasteFacts) => [
  `kubectl describe cluster ${lost}`,
  `${program} confirm-lost ${lost} ${name} -n ${namespace}`,
];
const allowDrain = ({ name, namespace, cluster: returned }: PasteFacts) => [
  `kubectl patch ccs ${name} -n ${namespace} --type merge -p '{"spec":{"failover":{"confirmedDrain":["${returned}"]}}}'`,
];
const rollBack = (facts: PasteFacts) => [...member(facts), ...own("undo")(facts), ...own("resume")(facts)];
const binding = ({ kind, template: name, namespace }: PasteFacts) => [
  `kubectl describe resourcebinding ${name}-${kind.toLowerCase()} -n ${namespace}`,
  `kubectl get propagationpolicies -n ${namespace}`,
];
const controllerLog = () => ["lockstep doctor"];

const waits = (proofs: readonly Proof[], paste: ReasonGuide["paste"]): ReasonGuide => ({
  proofs,
  needsPerson: false,
  paste,
});
const asks = (proofs: readonly Proof[], paste: ReasonGuide["paste"]): ReasonGuide => ({
  proofs,
  needsPerson: true,
  paste,
});

export const GUIDES: Readonly<Record<AnyReason, ReasonGuide>> = {
  InvalidSpec: asks([], edit),
  HoldDefeated: asks([], binding),
  LedgerUnreadable: asks([], ({ name, namespace }) => [
    `kubectl get crossclusterledger ${name} -n ${namespace} -o yaml`,
  ]),
  DispatchFailed: asks(["epochs"], (facts) => [...own("render")(facts), ...controllerLog()]),

  TemplateMissing: asks([], ({ kind, namespace }) => [`kubectl get ${kind.toLowerCase()} -n ${namespace}`]),
  RevisionPending: waits(["revisions"], watch),
  RevisionRefused: asks(["revisions"], template),
  RevisionRejected: asks(["revisions"], (facts) => [...own("history")(facts), ...template(facts)]),
  ScheduleUnknown: asks([], binding),
  SettingImpossible: asks([], (facts) => [...own("plan")(facts), ...edit(facts)]),
  IdentityImmutable: asks([], edit),
  BlockExhausted: asks(["counts"], edit),
  VolumeSurvives: asks([], ({ cluster: name, namespace }) => [`kubectl --context ${name} -n ${namespace} get pvc`]),
  OnDeleteUnsupported: asks([], edit),

  Adopting: waits(["counts", "epochs"], watch),
  AdoptedWithDifferences: asks(["halt", "revisions"], (facts) => [...own("plan")(facts), ...own("resume")(facts)]),
  UnknownObject: asks(["cluster"], member),
  AdoptionNeedsPerCluster: asks([], edit),

  WaitingForDelivery: waits(["epochs", "cluster"], work),
  WaitingForObserved: waits(["epochs", "cluster"], member),
  WaitingForReport: waits(["epochs"], member),
  WaitingForReady: waits(["counts"], member),
  WaitingForUpdated: waits(["counts", "revisions"], member),
  WaitingForTermination: waits(["counts"], member),
  Unhealthy: waits(["counts"], member),
  HealthUnknown: asks(["counts"], ({ program }) => [`${program} interpret --help`]),
  CannotBeVerified: asks(["epochs"], ({ name, namespace }) => [
    `kubectl patch ccs ${name} -n ${namespace} --type merge -p '{"spec":{"completion":{"assumeAfterSeconds":120}}}'`,
  ]),
  MinReadyHold: waits(["counts"], watch),
  WaitingForTurnBack: waits(["epochs"], member),
  Drifted: waits(["epochs"], member),

  ClusterNotReady: waits(["cluster", "failover"], cluster),
  ClusterUnreachable: waits(["cluster", "failover"], (facts) => [...cluster(facts), ...controllerLog()]),
  ClusterCordoned: asks(["cluster"], cluster),
  ClusterLost: asks(["cluster", "failover"], confirmLost),
  WaitingForLossEvidence: asks(["cluster", "failover"], confirmLost),
  ReplacementUnplaceable: asks(["cluster", "failover"], () => ["kubectl get clusters"]),
  ReturnedAfterReplacement: asks(["cluster", "failover"], allowDrain),
  ReturnedNotScheduled: asks(["cluster", "failover"], allowDrain),

  MembershipInProgress: waits(["counts"], watch),
  AddBeforeRemove: waits(["counts"], watch),
  UpdateBeforeGrowth: waits(["revisions"], watch),
  StillMember: waits(["counts"], member),

  Paused: asks(["paused"], own("resume")),
  WindowClosed: waits(["rollout"], own("plan")),
  WaveNotReached: waits(["rollout"], watch),
  Soaking: waits(["rollout"], watch),
  AwaitingApproval: asks(["rollout", "revisions"], own("approve")),
  BatchInProgress: waits(["counts"], watch),
  BudgetExhausted: waits(["quorum", "counts"], watch),
  QuorumAtRisk: waits(["quorum", "counts"], watch),
  MembershipFirst: waits(["counts"], watch),
  OrderFirst: waits(["rollout"], watch),
  LeaderLast: waits(["leader"], watch),
  LeaderUnknown: waits(["leader"], member),
  LeaderTransfer: waits(["leader", "epochs"], member),
  Partitioned: asks(["revisions"], ({ name, namespace }) => [
    `kubectl patch ccs ${name} -n ${namespace} --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`,
  ]),
  PartitionIndivisible: asks(["revisions"], edit),
  FinishFirst: waits(["counts", "revisions"], watch),
  RollBackFirst: waits(["counts", "revisions"], watch),
  ProgressDeadlineExceeded: asks(["halt", "counts"], rollBack),
  MemberFailed: asks(["halt", "counts"], rollBack),
  MemberRestartsInParallel: asks(["halt", "counts"], ({ name, namespace }) => [
    `kubectl patch ccs ${name} -n ${namespace} --type merge -p '{"spec":{"memberConcurrency":"Parallel"}}'`,
  ]),

  TeardownUnreachable: asks(["cluster"], confirmLost),
  TeardownInProgress: waits(["counts"], watch),
  ReleaseUnreachable: waits(["cluster"], cluster),
};

export function guideOf(code: string): ReasonGuide | undefined {
  return isReason(code) ? GUIDES[code] : undefined;
}

export function isReason(code: string): code is AnyReason {
  return Object.hasOwn(GUIDES, code);
}
