/** Gathers what `plan` and `render` speak of: from files not yet applied, from the hub, or from both. */
import {
  type ParsedCrossClusterStatefulset,
  parseRolloutApproval,
  type RolloutApproval,
  windowState,
} from "../api/index.ts";
import { intentOf } from "../controllers/index.ts";
import type { EngineCluster, EngineSchedule } from "../engine/index.ts";
import { httpWebhookTransports, Interpreter } from "../interpret/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { type Baseline, emptyLedger, type Intent, type Ledger, type Observation } from "../plan/index.ts";
import { NEUTRAL_REPLICAS, nameRevision, type RevisionContent, snapshotRevision } from "../render/index.ts";
import { silentLog } from "../runtime/index.ts";
import { adoptedFrom } from "./adoption.ts";
import { momentOf } from "./agreement.ts";
import type { GlobalOptions } from "./command.ts";
import { CommandError } from "./errors.ts";
import type { Approval } from "./forecast.ts";
import { APPROVALS, type Hub, patiently, withHub } from "./hub.ts";
import { engineFacts } from "./hub-facts.ts";
import type { Io } from "./io.ts";
import { observationsOf } from "./observations.ts";
import { packed, replicaSource } from "./packing.ts";
import { listRevisions, wholeContent } from "./revisions.ts";
import {
  asApplied,
  dependenciesOf,
  findStatefulset,
  findTemplate,
  listIfServed,
  overlay,
  readObjects,
  withNamespace,
} from "./sources.ts";

export interface SubjectOptions extends GlobalOptions {
  readonly filename?: readonly string[];
  readonly offline?: boolean;
}

/** One CrossClusterStatefulset as it would be, and everything that decides what happens to it. */
export interface Subject {
  readonly statefulset: ParsedCrossClusterStatefulset;
  readonly interpreter: Interpreter;
  readonly clusters: ReadonlyMap<string, EngineCluster>;
  readonly ledger: Ledger;
  readonly observations: Readonly<Record<string, Observation>>;
  /** Clusters that the engine dispatches to already, and what they run: they would be adopted. */
  readonly baselines: Readonly<Record<string, Baseline>>;
  /** By id; the wanted one and those that clusters run. */
  readonly contents: ReadonlyMap<string, RevisionContent>;
  readonly revision: string;
  readonly nowMs: number;
  readonly intentAt: (nowMs: number, approvals: readonly Approval[]) => Intent;
  readonly events: readonly KubeObject[];
  /** What a reader should know about where this comes from. */
  readonly notes: readonly string[];
}

const POLICY_KINDS = new Set(["OverridePolicy", "ClusterOverridePolicy"]);
const CUSTOMIZATION = { apiVersion: "config.karmada.io/v1alpha1", kind: "ResourceInterpreterCustomization" };
const WEBHOOKS = ["ResourceInterpreterWebhookConfiguration", "ResourceExploringWebhookConfiguration"];

/** Loads the subject and hands it to `use` while the hub, if there is one, is still connected. */
export async function withSubject<T>(
  io: Io,
  name: string | undefined,
  options: SubjectOptions,
  use: (subject: Subject) => Promise<T>,
): Promise<T> {
  const files = (options.filename ?? []).flatMap((path) => readObjects(io, path));
  if (name === undefined && files.length === 0) {
    throw new CommandError("say what to look at: the NAME of a CrossClusterStatefulset, or files with -f FILE");
  }
  if (options.offline) {
    if (files.length === 0) throw new CommandError("--offline needs files: -f FILE");
    return use(await load(io, undefined, name, files, options.namespace ?? "default"));
  }
  return withHub(io, options, async (hub) => {
    const loading = load(io, hub, name, files, hub.namespace);
    return use(
      await patiently(io, hub.clock, "reading clusters, schedule, revisions and status from the hub", loading),
    );
  });
}

async function load(
  io: Io,
  hub: Hub | undefined,
  name: string | undefined,
  given: readonly KubeObject[],
  namespace: string,
): Promise<Subject> {
  const [clock, random] = await Promise.all([io.clock(), io.random()]);
  const notes: string[] = [];
  const named = given.map((object) => withNamespace(object, namespace));
  const files = hub ? await Promise.all(named.map((object) => asApplied(hub, object, notes))) : named;
  const statefulset = await findStatefulset(hub, name, files);
  const owner = statefulset.metadata;
  const template = await findTemplate(hub, statefulset, files);
  const interpreter = new Interpreter({ clock, random, log: silentLog, transports: httpWebhookTransports });
  await teach(interpreter, hub, files);
  const ref = {
    apiVersion: template.apiVersion,
    kind: template.kind,
    namespace: owner.namespace,
    name: template.metadata.name,
  };
  const facts = hub
    ? await engineFacts(hub, { namespace: owner.namespace, name: owner.name, template: ref })
    : offlineFacts(statefulset);
  if (!hub) notes.push("offline: every cluster of spec.topology is taken for Ready, and nothing for deployed yet");

  const policies = overlay(
    facts.policies,
    files.filter(({ kind }) => POLICY_KINDS.has(kind)),
  );
  const dependencies = await dependenciesOf(interpreter, hub, template, owner.namespace, files, notes);
  const taken = await packed(interpreter, template);
  const content = snapshotRevision({
    template: taken,
    dependencies,
    policies,
    replicas: await replicaSource(interpreter, taken, NEUTRAL_REPLICAS),
    ...(statefulset.spec.restartedAt !== undefined && { restart: statefulset.spec.restartedAt }),
  });
  const contents = await keptContents(hub, owner, notes);
  const revision = nameRevision(content, (id) => contents.get(id)).id;
  contents.set(revision, content);
  const moment = hub && (await momentOf(hub, owner, statefulset.status));
  const ledger = moment?.ledger ?? emptyLedger();
  if (moment?.agree === false) {
    notes.push(
      "the status is older than the last grants; is 'lockstep controller' running? What clusters show may be outdated",
    );
  }
  const running = facts.renderedIn.filter((cluster) => !ledger.clusters[cluster]?.grant);
  const { baselines, observations } = hub
    ? await adoptedFrom(hub, running, ref, statefulset, interpreter, contents, notes)
    : { baselines: {}, observations: {} };
  const approvals = hub ? await approvalsOf(hub, owner) : [];
  const replicas = await interpreter.interpretNow("InterpretReplica", { object: template });
  const wanted = replicas.state === "known" ? replicas.value.replicas : undefined;
  if (files.includes(template) && !isScheduled(facts.schedule, wanted, statefulset)) {
    notes.push("the engine has not scheduled the file's number of instances yet: its present schedule is used");
  }
  const intentAt = (nowMs: number, assumed: readonly Approval[]): Intent => {
    const intent = intentOf({
      statefulset,
      template,
      templateReplicas: wanted,
      revision: { kind: "ready", id: revision },
      schedule: facts.schedule,
      clusters: facts.clusters,
      goneSinceMs: goneFrom(ledger, facts.clusters, nowMs),
      approvals,
      baselines,
      window: windowState(statefulset.spec.updateStrategy.rollingUpdate?.maintenanceWindows, nowMs),
      nowMs,
    });
    const { requests } = intent;
    return { ...intent, requests: { ...requests, approvals: [...requests.approvals, ...assumed] } };
  };
  return {
    statefulset,
    interpreter,
    clusters: new Map(facts.clusters.map((cluster) => [cluster.name, cluster])),
    ledger,
    observations: { ...observationsOf(ledger, moment?.status ?? statefulset.status), ...observations },
    baselines,
    contents,
    revision,
    nowMs: clock.now(),
    intentAt,
    events: facts.events,
    notes,
  };
}

async function teach(interpreter: Interpreter, hub: Hub | undefined, files: readonly KubeObject[]): Promise<void> {
  const inFiles = (kinds: readonly string[]) => files.filter(({ kind }) => kinds.includes(kind));
  const onHub = async (kind: string) => (hub ? await listIfServed(hub, CUSTOMIZATION.apiVersion, kind) : []);
  const customizations = overlay(await onHub(CUSTOMIZATION.kind), inFiles([CUSTOMIZATION.kind]));
  interpreter.setCustomizations(customizations);
  const webhooks = (await Promise.all(WEBHOOKS.map(onHub))).flat();
  interpreter.setWebhooks(overlay(webhooks, inFiles(WEBHOOKS)));
}

async function keptContents(
  hub: Hub | undefined,
  owner: { namespace: string; name: string },
  notes: string[],
): Promise<Map<string, RevisionContent>> {
  const contents = new Map<string, RevisionContent>();
  if (!hub) return contents;
  for (const kept of await listRevisions(hub, owner)) {
    try {
      contents.set(kept.id, await wholeContent(hub, owner.namespace, kept));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      notes.push(`the Secrets of revision ${kept.id} cannot be read, so it may be taken for another one: ${why}`);
      contents.set(kept.id, kept.content);
    }
  }
  return contents;
}

async function approvalsOf(hub: Hub, owner: { namespace: string; name: string }): Promise<RolloutApproval[]> {
  const { items } = await hub.client.listAll(APPROVALS, { namespace: owner.namespace, ...hub.request });
  return items.flatMap((object) => {
    const read = parseRolloutApproval(object);
    return read.ok && read.value.spec.name === owner.name ? [read.value] : [];
  });
}

function goneFrom(ledger: Ledger, clusters: readonly EngineCluster[], nowMs: number): Record<string, number> {
  const there = new Set(clusters.map(({ name }) => name));
  const gone = Object.keys(ledger.clusters).filter((name) => !there.has(name));
  return Object.fromEntries(gone.map((name) => [name, nowMs]));
}

/** Whether the schedule speaks of as many instances as the template asks for. */
function isScheduled(
  schedule: EngineSchedule,
  wanted: number | undefined,
  { spec }: ParsedCrossClusterStatefulset,
): boolean {
  if (spec.topology !== undefined || schedule.kind !== "known") return true;
  return wanted === schedule.clusters.reduce((sum, { replicas }) => sum + replicas, 0);
}

function offlineFacts({ spec, metadata }: ParsedCrossClusterStatefulset) {
  const names = spec.topology?.clusters.map(({ name }) => name);
  if (!names) {
    throw new CommandError(
      `CrossClusterStatefulset ${metadata.namespace}/${metadata.name} has no spec.topology, and --offline asks no engine for a schedule; add spec.topology, or leave --offline out`,
    );
  }
  const clusters: EngineCluster[] = names.map((name) => ({ name, state: "Ready", labels: {}, zones: [] }));
  const schedule: EngineSchedule = { kind: "unknown", message: "offline" };
  return { clusters, schedule, policies: [], events: [], renderedIn: [] };
}
