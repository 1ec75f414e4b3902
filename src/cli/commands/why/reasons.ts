/** The commands to paste for each reason. A missing reason does not compile. */
import type { EngineName } from "../../../api/index.ts";
import { CONTROLLER_REASONS, type ControllerReason } from "../../../controllers/index.ts";
import { REASONS, type ReasonCode } from "../../../rollout/index.ts";

export type AnyReason = ReasonCode | ControllerReason;

const ALL_REASONS = { ...REASONS, ...CONTROLLER_REASONS };

export interface PasteFacts {
  /** `lockstep` or `kubectl lockstep`, as the prefix of a command. */
  readonly program: string;
  readonly engine: EngineName;
  readonly name: string;
  readonly namespace: string;
  /** The cluster of the reason, from its evidence. Undefined: none. */
  readonly cluster: string | undefined;
  /** The reason's evidence shows that the cluster's instances were given up as lost. */
  readonly isGivenUp: boolean;
  readonly kind: string;
  readonly template: string;
  /** The template is in the object itself. */
  readonly isInline: boolean;
  /** The Placement that selects the clusters. */
  readonly placement: string | undefined;
  readonly selector: string;
}

export interface ReasonGuide {
  /** True: it lasts until a user acts. */
  readonly needsPerson: boolean;
  readonly paste: Paste;
}

type Paste = (facts: PasteFacts) => readonly string[];

const own =
  (command: string) =>
  ({ program, name, namespace }: PasteFacts) => [`${program} ${command} ${name} -n ${namespace}`];
const edit = ({ name, namespace }: PasteFacts) => [`kubectl edit ccs ${name} -n ${namespace}`];
const watch = own("status -w");
const template = (facts: PasteFacts) =>
  facts.isInline ? edit(facts) : [`kubectl edit ${facts.kind.toLowerCase()} ${facts.template} -n ${facts.namespace}`];
/** What the engine calls a cluster. */
const clusterKind = ({ engine }: PasteFacts) => (engine === "ocm" ? "managedcluster" : "cluster");
/** Commands for one cluster; if the reason has none, the overview of all of them. */
const at =
  (paste: (facts: PasteFacts, cluster: string) => string[]) =>
  (facts: PasteFacts): string[] =>
    facts.cluster === undefined ? watch(facts) : paste(facts, facts.cluster);
const member = at(({ kind, template: name, namespace, selector }, cluster) => [
  `kubectl --context ${cluster} -n ${namespace} get pods${selector === "" ? "" : ` -l ${selector}`}`,
  `kubectl --context ${cluster} -n ${namespace} describe ${kind.toLowerCase()} ${name}`,
]);
const work = at((facts, cluster) => [
  `kubectl get ${facts.engine === "ocm" ? `manifestworks -n ${cluster}` : `works -n karmada-es-${cluster}`} -l lockstep.karmada.io/app`,
  `kubectl get ${clusterKind(facts)} ${cluster}`,
]);
const fleet = (facts: PasteFacts) => [`kubectl get ${clusterKind(facts)}s`];
const cluster = at((facts, name) => [`kubectl describe ${clusterKind(facts)} ${name}`]);
const confirmLost = at((facts, lost) => [
  `kubectl describe ${clusterKind(facts)} ${lost}`,
  ...(facts.isGivenUp ? edit(facts) : [`${facts.program} confirm-lost ${lost} ${facts.name} -n ${facts.namespace}`]),
]);
const allowDrain = at(({ program, name, namespace }, returned) => [
  `${program} confirm-drain ${returned} ${name} -n ${namespace}`,
]);
const undrain = at(({ program }, drained) => [`${program} undrain ${drained}`]);
const rollBack = (facts: PasteFacts) => [...member(facts), ...own("undo")(facts), ...own("resume")(facts)];
const schedule = (facts: PasteFacts) => {
  const { engine, kind, template: name, namespace, placement } = facts;
  if (engine === "karmada") {
    return [
      `kubectl describe resourcebinding ${name}-${kind.toLowerCase()} -n ${namespace}`,
      `kubectl get propagationpolicies -n ${namespace}`,
    ];
  }
  if (placement === undefined) return edit(facts);
  return [
    `kubectl describe placement ${placement} -n ${namespace}`,
    `kubectl get managedclustersetbindings -n ${namespace}`,
  ];
};
const rivals = ({ engine }: PasteFacts) => [
  `kubectl get ${engine === "ocm" ? "manifestworks" : "works"} -A -l '!lockstep.karmada.io/app'`,
];
const doctor = ({ program }: PasteFacts) => [`${program} doctor`];

/** The commands to paste for each reason. */
export const GUIDES: Readonly<Record<AnyReason, Paste>> = {
  InvalidSpec: edit,
  UnknownKind: ({ kind }) => [`kubectl api-resources | grep -i ${kind.toLowerCase()}`],
  KindNotAllowed: () => ["lockstep install --help"],
  TemplateClaimed: ({ namespace }) => [`kubectl get ccs -n ${namespace}`],
  HoldDefeated: (facts) => [...(facts.engine === "ocm" ? [] : schedule(facts)), ...rivals(facts)],
  Forbidden: ({ namespace }) => [`kubectl get rolebindings,clusterrolebindings -n ${namespace} -o wide`],
  LedgerUnreadable: () => ["kubectl get crossclusterledgers -n lockstep-system"],
  WaitingForInterpreter: ({ engine }) => [
    engine === "ocm"
      ? "kubectl get resourceinterpretercustomizations -o yaml"
      : "kubectl get resourceinterpreterwebhookconfigurations,resourceexploringwebhookconfigurations -o yaml",
  ],
  TermOutOfRange: work,
  ReconcileFailed: doctor,
  DispatchFailed: (facts) => [...own("render")(facts), ...doctor(facts)],

  TemplateMissing: ({ kind, namespace }) => [`kubectl get ${kind.toLowerCase()} -n ${namespace}`],
  RevisionPending: watch,
  RevisionRefused: template,
  RevisionRejected: (facts) => [...own("history")(facts), ...template(facts)],
  OverrideHolds: (facts) => [...own("history")(facts), ...template(facts)],
  ScheduleUnknown: schedule,
  SettingImpossible: (facts) => [...own("plan")(facts), ...edit(facts)],
  TooLarge: (facts) => [...own("status")(facts), ...edit(facts)],
  IdentityImmutable: edit,
  BlockExhausted: edit,
  VolumeSurvives: at(({ namespace }, name) => [`kubectl --context ${name} -n ${namespace} get pvc`]),
  OnDeleteUnsupported: edit,

  Adopting: watch,
  AdoptedWithDifferences: (facts) => [...own("plan")(facts), ...own("resume")(facts)],
  UnknownObject: member,
  AdoptionNeedsPerCluster: edit,

  WaitingForDelivery: work,
  WaitingForObserved: member,
  WaitingForReport: member,
  WaitingForReady: member,
  WaitingForUpdated: member,
  WaitingForTermination: member,
  Unhealthy: member,
  HealthUnknown: ({ program }) => [`${program} interpret --help`],
  CannotBeVerified: ({ name, namespace }) => [
    `kubectl patch ccs ${name} -n ${namespace} --type merge -p '{"spec":{"completion":{"assumeAfterSeconds":120}}}'`,
  ],
  MinReadyHold: watch,
  WaitingForTurnBack: member,
  Drifted: member,

  ClusterNotInFleet: (facts) => [...fleet(facts), ...edit(facts)],
  ClusterNotReady: cluster,
  ClusterUnreachable: (facts) => [...cluster(facts), ...doctor(facts)],
  ClusterCordoned: cluster,
  NoRoom: cluster,
  InMaintenance: undrain,
  WaitingForMaintenance: undrain,
  ClusterLost: confirmLost,
  WaitingForLossEvidence: confirmLost,
  ReplacementUnplaceable: fleet,
  ReturnedAfterReplacement: allowDrain,
  ReturnedNotScheduled: allowDrain,
  WaitingForSelection: cluster,

  MembershipInProgress: watch,
  AddBeforeRemove: watch,
  UpdateBeforeGrowth: watch,
  StillMember: member,

  Paused: own("resume"),
  WindowClosed: (facts) => [...own("plan")(facts), ...own("promote")(facts)],
  WaveNotReached: watch,
  Soaking: (facts) => [...watch(facts), ...own("promote")(facts)],
  AwaitingApproval: own("approve"),
  BatchInProgress: watch,
  BudgetExhausted: watch,
  QuorumAtRisk: watch,
  MembershipFirst: watch,
  OrderFirst: watch,
  LeaderLast: watch,
  LeaderUnknown: member,
  LeaderTransfer: member,
  Partitioned: ({ name, namespace }) => [
    `kubectl patch ccs ${name} -n ${namespace} --type merge -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`,
  ],
  PartitionIndivisible: edit,
  FinishFirst: watch,
  RollBackFirst: watch,
  ProgressDeadlineExceeded: rollBack,
  MemberFailed: rollBack,
  MemberRestartsInParallel: ({ name, namespace }) => [
    `kubectl patch ccs ${name} -n ${namespace} --type merge -p '{"spec":{"memberConcurrency":"Parallel"}}'`,
  ],

  WaitingForHook: member,
  NoClusters: edit,
  FailedOver: member,
  TeardownUnreachable: confirmLost,
  TeardownInProgress: watch,
  ReleaseUnreachable: cluster,
};

export function guideOf(code: string): ReasonGuide | undefined {
  return isReason(code) ? { needsPerson: ALL_REASONS[code].needsPerson, paste: GUIDES[code] } : undefined;
}

export function isReason(code: string): code is AnyReason {
  return Object.hasOwn(GUIDES, code);
}
