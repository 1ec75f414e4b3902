/** The commands to paste for each reason of a DistributedApplication. */
import type { EngineName } from "../../api/index.ts";
import { ENGINES } from "../../engine/index.ts";
import type { AnyReason } from "../commands/why/reasons.ts";

export interface RemedyFacts {
  /** `lockstep` or `kubectl lockstep`. */
  readonly program: string;
  readonly engine: EngineName;
  readonly namespace: string;
  readonly name: string;
  readonly serviceAccount: string;
  /** Undefined: the reason is about no single cluster. */
  readonly cluster: string | undefined;
}

type Paste = (facts: RemedyFacts) => readonly string[];

const own =
  (command: string): Paste =>
  ({ program, name, namespace }) => [`${program} ${command} dapp/${name} -n ${namespace}`];
const edit: Paste = ({ name, namespace }) => [`kubectl edit dapp ${name} -n ${namespace}`];
const cluster: Paste = (facts) =>
  facts.cluster === undefined
    ? own("status")(facts)
    : [`kubectl describe ${ENGINES[facts.engine].clusters.kind.toLowerCase()} ${facts.cluster}`];
const both =
  (...pastes: readonly Paste[]): Paste =>
  (facts) => [...new Set(pastes.flatMap((paste) => paste(facts)))];

/** Reasons that are not here last by themselves, or are about other kinds: the status shows how far it is. */
const PASTES: Readonly<Partial<Record<AnyReason, Paste>>> = {
  InvalidSpec: edit,
  Forbidden: ({ namespace, serviceAccount }) => [
    `kubectl auth can-i --list --as system:serviceaccount:${namespace}:${serviceAccount} -n ${namespace}`,
    `kubectl get rolebindings,clusterrolebindings -n ${namespace} -o wide`,
  ],
  LedgerUnreadable: () => ["kubectl get crossclusterledgers -n lockstep-system"],
  RevisionRefused: both(own("render"), edit),
  RevisionRejected: both(own("history"), edit),
  OverrideHolds: both(own("history"), edit),
  NoClusters: both(({ engine }) => [`kubectl get ${ENGINES[engine].clusters.plural} --show-labels`], edit),
  ScheduleUnknown: edit,
  Paused: own("resume"),
  WindowClosed: both(own("plan"), own("promote")),
  Soaking: both(own("status"), own("promote")),
  AwaitingApproval: both(own("plan"), own("approve")),
  MemberFailed: both(own("status"), own("undo"), own("resume")),
  Unhealthy: both(own("status"), own("undo"), own("resume")),
  ProgressDeadlineExceeded: both(own("status"), own("undo"), own("resume")),
  ClusterNotReady: cluster,
  ClusterUnreachable: cluster,
  ClusterLost: cluster,
  FailedOver: cluster,
  TeardownUnreachable: cluster,
  ReleaseUnreachable: cluster,
  ReconcileFailed: ({ program }) => [`${program} doctor`],
  DispatchFailed: both(own("render"), ({ program }) => [`${program} doctor`]),
};

export function remedyOf(code: string, facts: RemedyFacts): readonly string[] {
  const paste = Object.hasOwn(PASTES, code) ? PASTES[code as AnyReason] : undefined;
  return (paste ?? own("status"))(facts);
}
