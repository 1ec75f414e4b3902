/** The current wait, its evidence from the planner, and its remedy, from the object and its ledger. Pure. */
import type { CrossClusterStatefulset, CrossClusterStatefulsetStatus, EngineName } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { Ledger } from "../../../plan/index.ts";
import { timestamp } from "../../../runtime/index.ts";
import { guideOf, type PasteFacts } from "./reasons.ts";

export interface WhyFacts {
  readonly program: string;
  /** The hub's; absent: Karmada. */
  readonly engine?: EngineName | undefined;
  readonly object: KubeObject;
  readonly spec: CrossClusterStatefulset["spec"] | undefined;
  readonly status: CrossClusterStatefulsetStatus;
  readonly ledger: Ledger | undefined;
}

export interface Evidence {
  readonly object: string;
  readonly field: string;
  readonly value: string;
  /** RFC 3339, if it is known. */
  readonly since?: string;
}

export interface Why {
  /** Undefined: it does not wait. */
  readonly reason: string | undefined;
  readonly cluster: string | undefined;
  readonly sentence: string;
  /** When this wait started, RFC 3339, if it is known. */
  readonly since: string | undefined;
  readonly evidence: readonly Evidence[];
  readonly remedy: readonly string[];
  readonly needsPerson: boolean;
  /** What else waits: `cluster: reason`. */
  readonly others: readonly string[];
}

interface Wait {
  readonly code: string;
  readonly cluster: string | undefined;
  readonly message: string;
  readonly since?: string | undefined;
  readonly evidence: readonly Evidence[];
}

export function whyOf(facts: WhyFacts): Why {
  const { object, status } = facts;
  const wait = presentWait(facts);
  if (!wait) {
    const seen = status.observedGeneration === object.metadata.generation;
    return {
      reason: undefined,
      cluster: undefined,
      sentence: seen
        ? `${nameOf(object)} waits for nothing: ${status.readyReplicas ?? 0} of ${status.desiredReplicas ?? 0} instances are ready, on revision ${status.updateRevision ?? "none"}.`
        : `${nameOf(object)} has a change that the controller has not processed yet. If this persists, check that a controller is running.`,
      since: undefined,
      evidence: seen ? [] : [generationEvidence(facts)],
      remedy: seen ? [] : [`${facts.program} doctor`],
      needsPerson: !seen,
      others: [],
    };
  }
  const guide = guideOf(wait.code);
  const where = wait.cluster === undefined ? "" : ` in ${wait.cluster}`;
  return {
    reason: wait.code,
    cluster: wait.cluster,
    sentence: `${nameOf(object)} waits${where}: ${wait.message}`,
    since: wait.since,
    evidence: wait.evidence.length > 0 ? wait.evidence : [reasonEvidence(facts, wait)],
    remedy: guide?.paste(pasteFacts(facts, wait)) ?? [],
    needsPerson: guide?.needsPerson ?? false,
    others: otherWaits(facts, wait),
  };
}

/** A halt first, then what needs a user, then the step in progress, then the rest. */
function presentWait(facts: WhyFacts): Wait | undefined {
  const { status, ledger } = facts;
  const all = waitsOf(facts);
  const halt = ledger?.halt;
  if (halt) {
    const said = all.find(({ code, cluster }) => code === halt.code && cluster === halt.cluster);
    const since = timestamp(halt.sinceMs);
    return said ?? { code: halt.code, cluster: halt.cluster, message: halt.message, since, evidence: [] };
  }
  const { step } = status;
  const inStep = all.find(({ cluster, code }) => step?.reason === code && step.cluster === cluster);
  return all.find(({ code }) => guideOf(code)?.needsPerson) ?? inStep ?? all[0];
}

/** What the application waits for, then each cluster; duplicates in the status are taken from the cluster. */
function waitsOf({ object, status, spec }: WhyFacts): Wait[] {
  const rows: Wait[] = (status.clusters ?? []).flatMap(({ name, reason, message = "", since, evidence = [] }) =>
    reason === undefined ? [] : [{ code: reason, cluster: name, message, since, evidence }],
  );
  const { reason, message = "", evidence = [] } = status;
  const waits: Wait[] = [];
  const pause = status.conditions?.find(({ type, status: holds }) => type === "Paused" && holds === "True");
  if (pause && reason !== pause.reason && guideOf(pause.reason)) {
    const said = pause.message || "the rollout is paused by its spec; the step in progress completes.";
    const paused = {
      object: described(object),
      field: "spec.updateStrategy.rollingUpdate.paused",
      value: String(spec?.updateStrategy.rollingUpdate.paused ?? "unknown"),
    };
    const since = pause.lastTransitionTime;
    waits.push({ code: pause.reason, cluster: undefined, message: said, since, evidence: [paused] });
  }
  const same = rows.some((row) => row.code === reason && row.message === message);
  if (reason !== undefined && !same) {
    waits.push({ code: reason, cluster: undefined, message, since: status.since, evidence });
  }
  return [...waits, ...rows];
}

function otherWaits(facts: WhyFacts, shown: Wait): string[] {
  return waitsOf(facts)
    .filter(({ code, cluster }) => code !== shown.code || cluster !== shown.cluster)
    .map(({ code, cluster }) => (cluster === undefined ? code : `${cluster}: ${code}`));
}

/** For reasons of the controller itself, which have no other evidence. */
function reasonEvidence({ object }: WhyFacts, { code, cluster, since }: Wait): Evidence {
  const field = cluster === undefined ? "status.reason" : `status.clusters[${cluster}].reason`;
  return { object: described(object), field, value: code, ...(since !== undefined && { since }) };
}

function generationEvidence({ object, status }: WhyFacts): Evidence {
  const seen = status.observedGeneration ?? "none";
  const value = `${seen}, and metadata.generation is ${object.metadata.generation ?? "none"}`;
  return { object: described(object), field: "status.observedGeneration", value };
}

function pasteFacts({ program, engine = "karmada", object, spec, status, ledger }: WhyFacts, wait: Wait): PasteFacts {
  const cluster = subjectOf(wait, status);
  return {
    program,
    engine,
    name: object.metadata.name,
    namespace: object.metadata.namespace ?? "default",
    cluster,
    isGivenUp: wait.evidence.some(({ value }) => value === GIVEN_UP),
    kind: spec?.resourceSelector?.kind ?? "KIND",
    template: ledger?.identity?.app.name ?? spec?.resourceSelector?.name ?? object.metadata.name,
    isInline: spec?.template !== undefined,
    placement: spec?.topology?.placementRef?.name,
    selector: pasteable(status.selector),
  };
}

/**
 * A selector comes from an object of any kind, whose owner may have put a command into a value. It is left out of what a
 * person pastes into a shell, unless it has only the characters of labels.
 */
function pasteable(selector = ""): string {
  return /^[\w./=,-]*$/.test(selector) ? selector : "";
}

/** The planner's evidence for a cluster whose loss a user or the application confirmed. */
const GIVEN_UP = "given up as lost";
/** How evidence names a cluster of the fleet. */
const FLEET_CLUSTER = /^cluster (\S+)$/;

/**
 * The cluster that a remedy is for: the one in the evidence, which may differ from the one that waits. A cluster may
 * wait for evidence that another one is lost.
 */
function subjectOf({ cluster, evidence }: Wait, { clusters = [] }: WhyFacts["status"]): string | undefined {
  for (const { object } of evidence) {
    const named = FLEET_CLUSTER.exec(object)?.[1];
    if (named !== undefined) return named;
  }
  return cluster ?? clusters.find(({ name }) => evidence.some(({ object }) => object === name))?.name;
}

function described(object: KubeObject): string {
  return `CrossClusterStatefulset ${nameOf(object)}`;
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
