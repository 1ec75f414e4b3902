/** For each reason: whether it needs a person, and what one can paste. A reason that is missing here does not compile. */
import type { ReasonCode } from "../plan/index.ts";

/** What the controller itself says when nothing can be planned or a write fails. */
export const CONTROLLER_REASONS = {
  InvalidSpec: "The CrossClusterStatefulset's spec is not valid; what runs goes on as it is.",
  HoldDefeated: "A setting lets the engine render the template by itself; nothing is granted until it is gone.",
  LedgerUnreadable: "The ledger object is there but cannot be read by this version; nothing is done.",
  DispatchFailed: "A grant could not be rendered for a cluster or written to the hub; that cluster keeps what it has.",
} as const;

export type AnyReason = ReasonCode | keyof typeof CONTROLLER_REASONS;

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
const allowDrain = ({ program, name, namespace, cluster: returned }: PasteFacts) => [
  `${program} confirm-drain ${returned} ${name} -n ${namespace}`,
];
const rollBack = (facts: PasteFacts) => [...member(facts), ...own("undo")(facts), ...own("resume")(facts)];
const binding = ({ kind, template: name, namespace }: PasteFacts) => [
  `kubectl describe resourcebinding ${name}-${kind.toLowerCase()} -n ${namespace}`,
  `kubectl get propagationpolicies -n ${namespace}`,
];
const doctor = ({ program }: PasteFacts) => [`${program} doctor`];

const waits = (paste: ReasonGuide["paste"]): ReasonGuide => ({ needsPerson: false, paste });
const asks = (paste: ReasonGuide["paste"]): ReasonGuide => ({ needsPerson: true, paste });

export const GUIDES: Readonly<Record<AnyReason, ReasonGuide>> = {
  InvalidSpec: asks(edit),
  HoldDefeated: asks(binding),
  LedgerUnreadable: asks(({ name, namespace }) => [`kubectl get crossclusterledger ${name} -n ${namespace} -o yaml`]),
  DispatchFailed: asks((facts) => [...own("render")(facts), ...doctor(facts)]),

  TemplateMissing: asks(({ kind, namespace }) => [`kubectl get ${kind.toLowerCase()} -n ${namespace}`]),
  RevisionPending: waits(watch),
  RevisionRefused: asks(template),
  RevisionRejected: asks((facts) => [...own("history")(facts), ...template(facts)]),
  ScheduleUnknown: asks(binding),
  SettingImpossible: asks((facts) => [...own("plan")(facts), ...edit(facts)]),
  IdentityImmutable: asks(edit),
  BlockExhausted: asks(edit),
  VolumeSurvives: asks(({ cluster: name, namespace }) => [`kubectl --context ${name} -n ${namespace} get pvc`]),
  OnDeleteUnsupported: asks(edit),

  Adopting: waits(watch),
  AdoptedWithDifferences: asks((facts) => [...own("plan")(facts), ...own("resume")(facts)]),
  UnknownObject: asks(member),
  AdoptionNeedsPerCluster: asks(edit),

  WaitingForDelivery: waits(work),
  WaitingForObserved: waits(member),
  WaitingForReport: waits(member),
  WaitingForReady: waits(member),
  WaitingForUpdated: waits(member),
  WaitingForTermination: waits(member),
  Unhealthy: waits(member),
  HealthUnknown: asks(({ program }) => [`${program} interpret --help`]),
  CannotBeVerified: asks(({ name, namespace }) => [
    `kubectl patch ccs ${name} -n ${namespace} --type merge -p '{"spec":{"completion":{"assumeAfterSeconds":120}}}'`,
  ]),
  MinReadyHold: waits(watch),
  WaitingForTurnBack: waits(member),
  Drifted: waits(member),

  ClusterNotReady: waits(cluster),
  ClusterUnreachable: waits((facts) => [...cluster(facts), ...doctor(facts)]),
  ClusterCordoned: asks(cluster),
  ClusterLost: asks(confirmLost),
  WaitingForLossEvidence: asks(confirmLost),
  ReplacementUnplaceable: asks(() => ["kubectl get clusters"]),
  ReturnedAfterReplacement: asks(allowDrain),
  ReturnedNotScheduled: asks(allowDrain),

  MembershipInProgress: waits(watch),
  AddBeforeRemove: waits(watch),
  UpdateBeforeGrowth: waits(watch),
  StillMember: waits(member),

  Paused: asks(own("resume")),
  WindowClosed: waits(own("plan")),
  WaveNotReached: waits(watch),
  Soaking: waits(watch),
  AwaitingApproval: asks(own("approve")),
  BatchInProgress: waits(watch),
  BudgetExhausted: waits(watch),
  QuorumAtRisk: waits(watch),
  MembershipFirst: waits(watch),
  OrderFirst: waits(watch),
  LeaderLast: waits(watch),
  LeaderUnknown: waits(member),
  LeaderTransfer: waits(member),
  Partitioned: asks(({ name, namespace }) => [
    `kubectl patch ccs ${name} -n ${namespace} --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`,
  ]),
  PartitionIndivisible: asks(edit),
  FinishFirst: waits(watch),
  RollBackFirst: waits(watch),
  ProgressDeadlineExceeded: asks(rollBack),
  MemberFailed: asks(rollBack),
  MemberRestartsInParallel: asks(({ name, namespace }) => [
    `kubectl patch ccs ${name} -n ${namespace} --type merge -p '{"spec":{"memberConcurrency":"Parallel"}}'`,
  ]),

  TeardownUnreachable: asks(confirmLost),
  TeardownInProgress: waits(watch),
  ReleaseUnreachable: waits(cluster),
};

export function guideOf(code: string): ReasonGuide | undefined {
  return isReason(code) ? GUIDES[code] : undefined;
}

export function isReason(code: string): code is AnyReason {
  return Object.hasOwn(GUIDES, code);
}
