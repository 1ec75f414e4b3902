import { ANNOTATIONS, type MemberReport, parseMemberReport } from "../../../contract/index.ts";
import type { Snapshot } from "../../../engine/index.ts";
import type { Interpreter, LeaderRule, Outcome } from "../../../interpret/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type {
  Counts,
  InstanceObservation,
  LeaderClaim,
  Ledger,
  LiveAnnotations,
  Observation,
  PresentObservation,
} from "../../../plan/index.ts";
import { isJsonObject, type Writable } from "../../../runtime/index.ts";
import { podTrouble, troubleWord } from "../../common/pod-trouble.ts";

/** How the spec says the leader is found. `report`: only an operator on the contract reports it. */
export type LeaderSource =
  | LeaderRule
  | { readonly podLabel: { key: string; value: string } }
  | { readonly report: true };

export interface ReadingContext {
  readonly interpreter: Pick<Interpreter, "interpret">;
  readonly cluster: string;
  readonly leader: LeaderSource;
  /** The cluster of an instance's name in the granted topology. */
  readonly clusterOfInstance: (name: string) => string | undefined;
  readonly isCluster: (name: string) => boolean;
}

/** What the member's operator reports, if it is on the contract. */
export function reportIn(snapshot: Snapshot): MemberReport | undefined {
  if (snapshot.kind !== "present" || !isJsonObject(snapshot.object.status)) return undefined;
  return parseMemberReport(snapshot.object.status.crossCluster);
}

/** What one snapshot says, in the planner's words. Whatever cannot be read is absent: unknown, never assumed. */
export function observe(snapshot: Snapshot, context: ReadingContext, report = reportIn(snapshot)): Observation {
  switch (snapshot.kind) {
    case "unreachable":
      return {
        kind: "unreachable",
        message: snapshot.message,
        ...(snapshot.sinceMs !== undefined && { sinceMs: snapshot.sinceMs }),
        ...(snapshot.isBlind && { isBlind: true }),
      };
    case "absent":
      return { kind: "absent" };
    case "present":
      return observePresent(snapshot, context, report);
  }
}

function observePresent(
  { object, pods, source, lacksLabels }: Extract<Snapshot, { kind: "present" }>,
  context: ReadingContext,
  report: MemberReport | undefined,
): PresentObservation {
  const { interpreter } = context;
  const status = isJsonObject(object.status) ? object.status : {};
  const replicas = interpreter.interpret("InterpretReplica", { object });
  // If a kind does not keep its count in the usual field, only its interpreter knows where.
  const isTaught = replicas.state === "known" && replicas.layer !== "native";
  const input = isTaught ? { object, replicas: replicas.value.replicas } : { object };
  const progress = interpreter.interpret("InterpretProgress", input);
  const health = interpreter.interpret("InterpretHealth", { object });
  const figures = progress.state === "known" ? progress.value : undefined;
  const instances = pods?.map((pod) => readPod(pod, status.updateRevision));
  const counts: Writable<Counts> = {};
  if (figures?.total !== undefined) counts.replicas = figures.total;
  if (figures?.ready !== undefined) counts.ready = figures.ready;
  if (figures?.available !== undefined) counts.available = figures.available;
  if (figures?.updated !== undefined) counts.updated = figures.updated;
  if (instances) counts.terminating = instances.filter(({ terminating }) => terminating).length;
  const seen: Writable<PresentObservation> = {
    kind: "present",
    generation: object.metadata.generation ?? 0,
    live: readLive(object, replicas),
    counts,
    health: healthOf(health, report?.phase === "Done" || figures?.complete === true),
    leader: readLeader(object, lacksLabels ? undefined : pods, report?.leader, context),
  };
  // A reflected copy has no generation of its own, and drops observedGeneration: nothing can be proven from it. Values
  // are all of one version of the object, its generation and our epoch among them, so they prove as much as the object.
  const observedGeneration = source === "reflected" ? undefined : count(status.observedGeneration);
  if (observedGeneration !== undefined) seen.observedGeneration = observedGeneration;
  if (object.metadata.uid !== undefined) seen.uid = object.metadata.uid;
  if (object.metadata.deletionTimestamp !== undefined) seen.isDeleting = true;
  if (health.state === "failed") seen.healthMessage = health.reason;
  if (report) seen.report = report;
  if (instances) seen.instances = instances;
  return seen;
}

/** If no interpreter defines health for this kind, an object counts as healthy when it is complete. */
function healthOf(outcome: Outcome<"InterpretHealth">, complete: boolean): PresentObservation["health"] {
  if (outcome.state === "known") return outcome.value ? "healthy" : "unhealthy";
  return outcome.state === "failed" && outcome.code === "NoInterpreter" && complete ? "healthy" : "unknown";
}

function readLive(object: KubeObject, replicas: Outcome<"InterpretReplica">): LiveAnnotations {
  const annotations = object.metadata.annotations ?? {};
  const number = (key: string) => countText(annotations[key]);
  const processor = annotations[ANNOTATIONS.processor];
  const live: Writable<LiveAnnotations> = {};
  const epoch = number(ANNOTATIONS.epoch);
  const partition = number(ANNOTATIONS.partition);
  const topologyVersion = number(ANNOTATIONS.topologyVersion);
  const revision = annotations[ANNOTATIONS.revision];
  const transferLeaderTo = annotations[ANNOTATIONS.transferLeaderTo];
  const clusterToken = annotations[ANNOTATIONS.clusterToken];
  if (epoch !== undefined) live.epoch = epoch;
  if (partition !== undefined) live.partition = partition;
  if (topologyVersion !== undefined) live.topologyVersion = topologyVersion;
  if (revision !== undefined) live.revision = revision;
  if (clusterToken !== undefined) live.clusterToken = clusterToken;
  // Empty: no leader is asked to move. This is how a request is withdrawn.
  if (transferLeaderTo) live.transferLeaderTo = transferLeaderTo;
  if (processor === "true" || processor === "false") live.processor = processor === "true";
  if (replicas.state === "known") live.replicas = replicas.value.replicas;
  return live;
}

function readPod(pod: KubeObject, updateRevision: unknown): InstanceObservation {
  const { metadata } = pod;
  const status = isJsonObject(pod.status) ? pod.status : {};
  const conditions = Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
  const revision = metadata.labels?.["controller-revision-hash"];
  const ordinal = countText(/-(\d+)$/.exec(metadata.name)?.[1]);
  const seen: Writable<InstanceObservation> = {
    name: metadata.name,
    ready: conditions.some(({ type, status: holds }) => type === "Ready" && holds === "True"),
    terminating: metadata.deletionTimestamp !== undefined,
  };
  if (metadata.uid !== undefined) seen.uid = metadata.uid;
  if (metadata.resourceVersion !== undefined) seen.version = metadata.resourceVersion;
  if (ordinal !== undefined) seen.ordinal = ordinal;
  if (revision !== undefined && typeof updateRevision === "string") seen.updated = revision === updateRevision;
  if (conditions.some(({ type, status: holds }) => type === "DisruptionTarget" && holds === "True")) {
    seen.disrupted = true;
  }
  const trouble = seen.ready || seen.terminating ? undefined : podTrouble(pod);
  if (trouble) seen.trouble = troubleWord(trouble);
  return seen;
}

function readLeader(
  object: KubeObject,
  pods: readonly KubeObject[] | undefined,
  reported: string | undefined,
  context: ReadingContext,
): LeaderClaim {
  const { leader } = context;
  if ("report" in leader) {
    // The contract: the leading instance's name where it is, "" where it is not, nothing where it is not known.
    if (reported === undefined) return { kind: "unknown" };
    return reported === "" ? { kind: "elsewhere" } : { kind: "here", instance: reported };
  }
  if ("podLabel" in leader) {
    if (!pods) return { kind: "unknown" };
    const { key, value } = leader.podLabel;
    const leading = pods.filter(
      ({ metadata }) => metadata.labels?.[key] === value && metadata.deletionTimestamp === undefined,
    );
    const [only] = leading;
    if (only === undefined) return { kind: "elsewhere" };
    return leading.length === 1 ? { kind: "here", instance: only.metadata.name } : { kind: "unknown" };
  }
  const outcome = context.interpreter.interpret("InterpretLeader", { object, rule: leader });
  if (outcome.state === "failed") return { kind: "unknown", failure: outcome.reason };
  if (outcome.state !== "known") return { kind: "unknown" };
  switch (outcome.value.claim) {
    case "here":
      return { kind: "here" };
    case "elsewhere":
      return { kind: "elsewhere" };
    case "named":
      return claimOfName(outcome.value.name, context);
    case "unknown":
      return { kind: "unknown" };
  }
}

/** A name is an instance's or a cluster's. Any other name identifies no leader, and is shown as it was read. */
function claimOfName(name: string, context: ReadingContext): LeaderClaim {
  const cluster = context.clusterOfInstance(name) ?? (context.isCluster(name) ? name : undefined);
  if (cluster === undefined) return { kind: "unknown", said: name };
  if (cluster !== context.cluster) return { kind: "elsewhere" };
  return name === cluster ? { kind: "here" } : { kind: "here", instance: name };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function countText(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? count(Number(text)) : undefined;
}

/** The cluster of each instance, by the name that the application itself knows it by. */
export function instanceHomes({ identity, clusters }: Ledger): Map<string, string> {
  const homes = new Map<string, string>();
  // If every cluster numbers its own instances, a name does not identify the cluster.
  if (!identity || identity.mode === "PerCluster") return homes;
  for (const [cluster, { instances }] of Object.entries(clusters)) {
    for (const { ordinal } of instances) homes.set(`${identity.app.name}-${ordinal}`, cluster);
  }
  return homes;
}
