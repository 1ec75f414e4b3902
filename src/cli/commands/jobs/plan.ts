/** `lockstep plan` of a CrossClusterJob: what would start where, and where it continues after a failure. */
import {
  CROSS_CLUSTER_JOB,
  forbiddenClusters,
  jobTemplateMistakes,
  type ParsedCrossClusterJob,
  parseCrossClusterJob,
} from "../../../api/index.ts";
import { jobClusterOf, jobIntentOf, recoveredJob } from "../../../controllers/index.ts";
import type { EngineSchedule } from "../../../engine/index.ts";
import { emptyJobLedger, JOB_REASONS, templateDigest } from "../../../jobs/index.ts";
import { ForbiddenError, type KubeObject, resource } from "../../../kube/index.ts";
import { CommandError } from "../../errors.ts";
import { engineOf } from "../../hub/engine.ts";
import { type Hub, withHub } from "../../hub/hub.ts";
import { CROSS_CLUSTER_JOBS, getJob } from "../../hub/job.ts";
import type { GlobalOptions } from "../../options.ts";
import { type AttemptAhead, forecastJob, type JobForecast } from "../../preview/job-forecast.ts";
import { withEngine } from "../../preview/moment.ts";
import { readObjects, withNamespace } from "../../preview/sources.ts";
import type { Io } from "../../terminal/io.ts";
import { isJobName } from "../../terminal/kind-name.ts";
import { formatOf, print, printData, styleOf } from "../../terminal/output.ts";
import type { PlanOptions } from "../plan/command.ts";

const NAMESPACES = resource({ apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false });
/** The exit code for "it would be blocked"; 1 is for errors. */
const BLOCKED = 2;

/** Whether a name or files mean a CrossClusterJob. */
export function isAboutJob(io: Io, name: string | undefined, filename: readonly string[] = []): boolean {
  if (isJobName(name)) return true;
  const isJob = ({ kind }: KubeObject) => kind === CROSS_CLUSTER_JOB.kind;
  return name === undefined && filename.some((path) => readObjects(io, path).some(isJob));
}

export function runJobPlan(io: Io, name: string | undefined, options: PlanOptions & GlobalOptions): Promise<number> {
  const format = formatOf(options.output, ["json", "yaml"]);
  if (options.offline) {
    throw new CommandError("a CrossClusterJob cannot be planned offline: which clusters are Ready is known to the hub");
  }
  return withHub(io, options, async (hub) => {
    const notes: string[] = [];
    const { job, before } = await subjectOf(io, hub, name, options.filename ?? []);
    const forecast = await forecastOf(hub, job, before, notes);
    const what = `${CROSS_CLUSTER_JOB.kind} ${job.metadata.namespace}/${job.metadata.name}`;
    const isBlocked = forecast.waiting.some(({ code }) => JOB_REASONS[code].needsPerson && !JOB_REASONS[code].atRest);
    for (const note of notes) io.stderr.write(`note: ${note}\n`);
    if (format !== "text") printData(io, format, { ...forecast, blocked: isBlocked });
    else print(io, lines(what, job, forecast, styleOf(io).bold).join("\n"));
    return isBlocked ? BLOCKED : 0;
  });
}

interface Asked {
  readonly job: ParsedCrossClusterJob;
  /** As it is on the hub; undefined: it is new. */
  readonly before: KubeObject | undefined;
}

async function subjectOf(io: Io, hub: Hub, name: string | undefined, filename: readonly string[]): Promise<Asked> {
  if (name !== undefined) {
    const before = await getJob(hub, name);
    return { job: parsed(before), before };
  }
  const [asked, ...more] = filename
    .flatMap((path) => readObjects(io, path))
    .filter(({ kind }) => kind === CROSS_CLUSTER_JOB.kind)
    .map((object) => withNamespace(object, hub.namespace));
  if (!asked || more.length > 0) {
    throw new CommandError(`the files must have exactly one CrossClusterJob; they have ${asked ? more.length + 1 : 0}`);
  }
  const { namespace = hub.namespace, name: own } = asked.metadata;
  const before = await hub.client.find(CROSS_CLUSTER_JOBS, { namespace, name: own }, hub.request);
  const job = parsed(asked);
  // The controller looks at the template before the first attempt only.
  const mistakes = before ? [] : jobTemplateMistakes(job.spec);
  if (mistakes.length > 0) throw invalid(own, mistakes.join("; "));
  return { job, before };
}

function parsed({ status: _said, ...object }: KubeObject): ParsedCrossClusterJob {
  const result = parseCrossClusterJob(object);
  if (result.ok) return result.value;
  const errors = result.errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw invalid(object.metadata.name, errors);
}

function invalid(name: string, errors: string): CommandError {
  return new CommandError(`CrossClusterJob ${name} is not valid: ${errors}. Correct it first`);
}

async function forecastOf(
  hub: Hub,
  job: ParsedCrossClusterJob,
  before: KubeObject | undefined,
  notes: string[],
): Promise<JobForecast> {
  const digest = templateDigest(job.spec.template);
  const isChanged = before !== undefined && templateDigest(parsed(before).spec.template) !== digest;
  if (isChanged && before.status !== undefined) {
    throw new CommandError(
      `CrossClusterJob ${job.metadata.name} would be refused: spec.template is not what its attempts were made from. Restore it, or create another CrossClusterJob for other work`,
    );
  }
  const { clusters: kind, readCluster } = await engineOf(hub);
  const { items } = await hub.client.listAll(kind, hub.request);
  const clusters = items.flatMap((object) => readCluster(object) ?? []);
  const missing = (job.spec.clusters.names ?? []).filter((name) => !clusters.some((each) => each.name === name));
  if (missing.length > 0) notes.push(`the hub has no cluster ${missing.join(", ")}`);
  const namespace = await namespaceOf(hub, job.metadata.namespace, notes);
  const intent = jobIntentOf(job, {
    clusters,
    schedule: await scheduleOf(hub, job),
    forbidden: (names) =>
      namespace
        ? forbiddenClusters(
            namespace,
            names.map((name) => ({ name })),
            { required: false },
          )
        : [],
  });
  const nowMs = hub.clock.now();
  const known = Object.fromEntries(clusters.map((cluster) => [cluster.name, jobClusterOf(cluster)]));
  // The ledger is the controller's own; its status shows the same attempts.
  const ledger = recoveredJob(emptyJobLedger(digest), before?.status, job, nowMs);
  return forecastJob(intent, ledger, known, nowMs);
}

async function namespaceOf(hub: Hub, name: string, notes: string[]): Promise<KubeObject | undefined> {
  try {
    return await hub.client.find(NAMESPACES, { name }, hub.request);
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    notes.push(`whether namespace ${name} may use these clusters is not checked: ${error.message}`);
    return undefined;
  }
}

async function scheduleOf(hub: Hub, { metadata, spec }: ParsedCrossClusterJob): Promise<EngineSchedule> {
  const placement = spec.clusters.placementRef?.name;
  if (placement === undefined) return { kind: "known", clusters: [] };
  const { namespace, name } = metadata;
  const bundle = { kind: "CrossClusterJob", namespace, name, objects: [], placement } as const;
  return withEngine(hub, async (engine) => engine.schedule(bundle));
}

function lines(
  what: string,
  { spec }: ParsedCrossClusterJob,
  forecast: JobForecast,
  bold: (text: string) => string,
): string[] {
  const { running, starts, afterFailure, waiting } = forecast;
  const row = ({ number, cluster, work }: AttemptAhead) => `attempt ${number} in ${bold(cluster)}, ${work}`;
  const { guarantee, afterSeconds } = spec.failover.onClusterLoss;
  return [
    `${bold(what)}: ${starts.length === 0 ? "nothing would start" : `${starts.length} would start`}, ${running.length} may run now`,
    ...running.map((each) => `  runs    ${row(each)}`),
    ...starts.map((each) => `  starts  ${row(each)}`),
    ...afterFailure.map(({ failed, next, otherwise }) =>
      next ? `  if attempt ${failed} fails: ${row(next)}` : `  if attempt ${failed} fails: ${otherwise}`,
    ),
    `  if a cluster is lost for ${afterSeconds} s: ${ON_LOSS[guarantee]}`,
    ...waiting.flatMap(({ code, cluster, message, remedy }) => [
      `  waits   ${bold(code)}${cluster === undefined ? "" : ` in ${cluster}`}: ${message}`,
      `          ${remedy}`,
    ]),
  ];
}

const ON_LOSS: Readonly<Record<ParsedCrossClusterJob["spec"]["failover"]["onClusterLoss"]["guarantee"], string>> = {
  Wait: "nothing starts elsewhere until the cluster returns, or you confirm its loss",
  Exclusive: "its work continues elsewhere after the cluster must have ended it by itself",
  AtLeastOnce: "its work continues elsewhere at once, and may run twice",
};
