/**
 * What `plan` and `render` speak of, from files not yet applied, from the hub, or from both. It is put together by the
 * controller's own gathering; only where things are read from is a preview's.
 */
import {
  type AllowedClustersRule,
  type ParsedCrossClusterStatefulset,
  parseRolloutApproval,
  type RolloutApproval,
} from "../../api/index.ts";
import {
  type ControllerReason,
  discovered,
  type Gathered,
  Gatherer,
  intentOf,
  Reviser,
  type RevisionBook,
} from "../../controllers/index.ts";
import type { EngineApp, EngineCluster } from "../../engine/index.ts";
import { httpWebhookTransports, Interpreter } from "../../interpret/index.ts";
import { ForbiddenError, type KubeObject, keyOf } from "../../kube/index.ts";
import { type Baseline, emptyLedger, type Intent, type Ledger, type Observation } from "../../plan/index.ts";
import type { RevisionContent } from "../../render/index.ts";
import { windowState } from "../../rollout/index.ts";
import { type Clock, type Random, silentLog } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import { APPROVALS, type Hub, ledgerOf, patiently, STATEFULSETS, withHub } from "../hub/hub.ts";
import { statusOf } from "../hub/status.ts";
import type { GlobalOptions } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { Answers } from "./answers.ts";
import { claimOfAnother } from "./claims.ts";
import { eventsOf } from "./events.ts";
import type { Approval } from "./forecast.ts";
import { engineFacts, offlineFacts, previewMoment, renderedIn } from "./moment.ts";
import { observationsOf } from "./observations.ts";
import { withQuotas } from "./quotas.ts";
import { HubReads, overlay } from "./reads.ts";
import { DraftRevisions, listRevisions } from "./revisions.ts";
import { asApplied, findStatefulset, findTemplate, listIfServed, readObjects, withNamespace } from "./sources.ts";

export interface PreviewOptions extends GlobalOptions {
  readonly filename?: readonly string[];
  readonly offline?: boolean;
}

/** One CrossClusterStatefulset as it would be, and everything that decides what happens to it. */
export interface PreviewInput {
  readonly statefulset: ParsedCrossClusterStatefulset;
  readonly answers: Answers;
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
  /** What the controller says instead of planning anything. */
  readonly refusal: { readonly code: ControllerReason; readonly message: string } | undefined;
  /** What a reader should know about where this comes from. */
  readonly notes: readonly string[];
}

const POLICY_KINDS = new Set(["OverridePolicy", "ClusterOverridePolicy"]);
const CUSTOMIZATION = { apiVersion: "config.karmada.io/v1alpha1", kind: "ResourceInterpreterCustomization" };
const WEBHOOKS = ["ResourceInterpreterWebhookConfiguration", "ResourceExploringWebhookConfiguration"];
/** Each round reads what the one before asked for, and what was read asks for little more. */
const MAX_ROUNDS = 50;

/** Loads the input and hands it to `use` while the hub, if there is one, is still connected. */
export async function withPreviewInput<T>(
  io: Io,
  name: string | undefined,
  options: PreviewOptions,
  use: (input: PreviewInput) => Promise<T>,
): Promise<T> {
  const files = (options.filename ?? []).flatMap((path) => readObjects(io, path));
  if (name === undefined && files.length === 0) {
    throw new CommandError("say what to look at: the NAME of a CrossClusterStatefulset, or files with -f FILE");
  }
  const [clock, random] = await Promise.all([io.clock(), io.random()]);
  if (options.offline) {
    if (files.length === 0) throw new CommandError("--offline needs files: -f FILE");
    return withInterpreter(undefined, clock, random, async (interpreter) =>
      use(await load(undefined, interpreter, clock, name, files, options.namespace ?? "default")),
    );
  }
  return withHub(io, options, (hub) =>
    withInterpreter(hub, clock, random, async (interpreter) => {
      const loading = load(hub, interpreter, clock, name, files, hub.namespace);
      const what = "reading clusters, schedule, revisions and status from the hub";
      return use(await patiently(io, hub.clock, what, loading));
    }),
  );
}

async function load(
  hub: Hub | undefined,
  interpreter: Interpreter,
  clock: Clock,
  name: string | undefined,
  given: readonly KubeObject[],
  namespace: string,
): Promise<PreviewInput> {
  const notes: string[] = [];
  const named = given.map((object) => withNamespace(object, namespace));
  const files = hub ? await Promise.all(named.map((object) => asApplied(hub, object, notes))) : named;
  const statefulset = await findStatefulset(hub, name, files);
  const { metadata } = statefulset;
  const reads = new HubReads(hub, files);
  const template = await findTemplate(hub, statefulset, reads);
  const app: EngineApp = {
    namespace: metadata.namespace,
    name: metadata.name,
    template: {
      apiVersion: template.apiVersion,
      kind: template.kind,
      namespace: metadata.namespace,
      name: template.metadata.name,
    },
  };
  await teach(interpreter, hub, files);
  const facts = hub ? await engineFacts(hub, app) : offlineFacts(statefulset);
  if (!hub) notes.push("offline: every cluster of spec.topology is taken for Ready, and nothing for deployed yet");
  // Both from one object: what was decided and what was seen belong to the same moment.
  const live = hub && (await hub.client.find(STATEFULSETS, metadata, hub.request));
  const ledger = (live && ledgerOf(live)) ?? emptyLedger();
  const policies = files.filter(({ kind }) => POLICY_KINDS.has(kind));
  const nowMs = clock.now();
  const moment = {
    ...(await previewMoment(hub, app, facts, ledger, nowMs, notes)),
    policies: overlay(facts.policies, policies),
  };
  const revisions = new DraftRevisions(hub ? await listRevisions(hub, metadata) : [], ledger.history.reached);
  const approvals = hub ? await approvalsOf(hub, metadata) : [];
  const allowedClusters = hub && (await allowedClustersRule(reads, statefulset, notes));
  const answers = new Answers(interpreter);
  const reviser = new Reviser(reviserOptions(answers, reads, revisions, clock));
  const gatherer = new Gatherer({
    interpreter: answers,
    reviser,
    approvals: { of: () => approvals },
    hubObjects: reads,
    ...(allowedClusters && { allowedClusters }),
  });
  const key = keyOf(metadata);
  const input = { key, statefulset, app, template: { kind: "one" as const, object: template } };
  const asked = await settled(reads, answers, () => gatherer.gather(input, ledger, moment, renderedIn(facts)));
  const { engine } = facts;
  const gathered = hub && engine ? await withQuotas(hub, engine, asked, metadata.namespace, notes) : asked;
  for (const { ref } of reviser.seen(key)?.dependencies ?? []) {
    if (reads.get(key, ref).kind === "present") continue;
    notes.push(`${ref.kind} ${ref.namespace}/${ref.name} is named by the template and not there yet; it is left out`);
  }
  if (files.includes(template) && !isScheduled(gathered)) {
    notes.push("the engine has not scheduled the file's number of instances yet: its present schedule is used");
  }
  const { intent } = gathered;
  return {
    statefulset,
    answers,
    clusters: moment.clusters,
    ledger,
    observations: { ...gathered.seen.clusters, ...observationsOf(ledger, live && statusOf(live)) },
    baselines: Object.fromEntries(
      Object.entries(intent.baselines).flatMap(([cluster, baseline]) => (baseline ? [[cluster, baseline]] : [])),
    ),
    contents: revisions.contents,
    revision: intent.revision.kind === "missing" ? "" : intent.revision.id,
    nowMs,
    intentAt: (atMs, assumed) => intentLater(gathered, atMs, assumed),
    events: hub ? await eventsOf(hub, metadata) : [],
    refusal: await refusalOf(hub, app, facts),
    notes,
  };
}

/** Asks until nothing is missing any more: what a webhook has to answer, or the hub to show. */
async function settled<T>(reads: HubReads, answers: Answers, ask: () => Promise<T>): Promise<T> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const answer = await ask();
    const [wasRead, wasAnswered] = await Promise.all([reads.read(), answers.settle()]);
    if (!wasRead && !wasAnswered) return answer;
  }
  throw new CommandError(`after ${MAX_ROUNDS} rounds there is still something to be read or interpreted; try again`);
}

/** A preview waits for no edit to settle, asks no member for a dry run, and stores nothing. */
function reviserOptions(answers: Answers, reads: HubReads, store: RevisionBook, clock: Clock) {
  return {
    interpreter: answers,
    hubObjects: reads,
    store,
    clock,
    dryRuns: { of: (_key: string, _owner: unknown, { id }: { id: string }) => ({ kind: "ready" as const, id }) },
    mustStillExist: async () => {},
  };
}

/** The same intent at another time: windows open and close, and approvals are given. */
function intentLater({ facts }: Gathered, nowMs: number, assumed: readonly Approval[]): Intent {
  const { maintenanceWindows } = facts.statefulset.spec.updateStrategy.rollingUpdate ?? {};
  const intent = intentOf({ ...facts, window: windowState(maintenanceWindows, nowMs), nowMs });
  const { requests } = intent;
  return { ...intent, requests: { ...requests, approvals: [...requests.approvals, ...assumed] } };
}

async function refusalOf(
  hub: Hub | undefined,
  app: EngineApp,
  { hold }: Pick<ReturnType<typeof offlineFacts>, "hold">,
): Promise<PreviewInput["refusal"]> {
  const claimed = hub && (await claimOfAnother(hub, app, app.template));
  if (claimed !== undefined) return { code: "TemplateClaimed", message: claimed };
  if (hold.kind !== "unsafe") return undefined;
  return { code: "HoldDefeated", message: `${hold.message}; ${hold.remedy}` };
}

/**
 * The rule as the controller has it unless it was started with --require-allowed-clusters, which the hub does not tell.
 * Undefined: this user may not read the namespace.
 */
async function allowedClustersRule(
  reads: HubReads,
  { metadata, spec }: ParsedCrossClusterStatefulset,
  notes: string[],
): Promise<AllowedClustersRule | undefined> {
  if (spec.topology === undefined) return undefined;
  const { namespace: name } = metadata;
  try {
    reads.get(keyOf(metadata), { apiVersion: "v1", kind: "Namespace", namespace: "", name });
    await reads.read();
    return { required: false };
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    notes.push(`whether namespace ${name} may use these clusters is not checked: ${error.message}`);
    return undefined;
  }
}

/** An interpreter while `use` runs. */
async function withInterpreter<T>(
  hub: Hub | undefined,
  clock: Clock,
  random: Random,
  use: (interpreter: Interpreter) => Promise<T>,
): Promise<T> {
  const resources = hub && { resources: discovered(hub.client) };
  const interpreter = new Interpreter({
    clock,
    random,
    log: silentLog,
    transports: httpWebhookTransports,
    ...resources,
  });
  try {
    return await use(interpreter);
  } finally {
    interpreter.stop();
  }
}

/** How kinds are read: as the hub says, and the files. */
async function teach(interpreter: Interpreter, hub: Hub | undefined, files: readonly KubeObject[]): Promise<void> {
  const inFiles = (kinds: readonly string[]) => files.filter(({ kind }) => kinds.includes(kind));
  const onHub = async (kind: string) => (hub ? await listIfServed(hub, CUSTOMIZATION.apiVersion, kind) : []);
  interpreter.setCustomizations(overlay(await onHub(CUSTOMIZATION.kind), inFiles([CUSTOMIZATION.kind])));
  const webhooks = (await Promise.all(WEBHOOKS.map(onHub))).flat();
  interpreter.setWebhooks(overlay(webhooks, inFiles(WEBHOOKS)));
}

async function approvalsOf(hub: Hub, owner: { namespace: string; name: string }): Promise<RolloutApproval[]> {
  const { items } = await hub.client.listAll(APPROVALS, { namespace: owner.namespace, ...hub.request });
  return items.flatMap((object) => {
    const read = parseRolloutApproval(object);
    return read.ok && read.value.spec.name === owner.name ? [read.value] : [];
  });
}

/** Whether the schedule speaks of as many instances as the template asks for. */
function isScheduled({ facts: { statefulset, schedule, templateReplicas } }: Gathered): boolean {
  if (statefulset.spec.topology !== undefined || schedule.kind !== "known") return true;
  return templateReplicas === schedule.clusters.reduce((sum, { replicas }) => sum + replicas, 0);
}
