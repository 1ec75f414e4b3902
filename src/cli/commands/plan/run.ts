import { stringify } from "yaml";
import { planApplication, renderApplication } from "../../applications/rendering.ts";
import { isAboutApplication } from "../../applications/subject.ts";
import { CommandError } from "../../errors.ts";
import type { GlobalOptions } from "../../options.ts";
import { durationsFrom } from "../../preview/durations.ts";
import { type Forecast, forecast, isBlocked } from "../../preview/forecast.ts";
import { type PreviewInput, withPreviewInput } from "../../preview/input.ts";
import { hideSecrets, manifestDiff, manifestsOf, objectDiff } from "../../preview/rendering.ts";
import type { Io } from "../../terminal/io.ts";
import { nearest } from "../../terminal/nearest.ts";
import { formatOf, print, printData, styleOf } from "../../terminal/output.ts";
import { isAboutJob, runJobPlan } from "../jobs/plan.ts";
import type { RenderOptions } from "../render/command.ts";
import type { PlanOptions } from "./command.ts";
import { type Adoption, type ClusterDiff, planLines } from "./view.ts";

/** The exit code for "it would be blocked"; 1 is for errors. */
const BLOCKED = 2;

export async function runPlan(io: Io, name: string | undefined, options: PlanOptions & GlobalOptions): Promise<number> {
  if (isAboutApplication(io, name, options.filename)) return planApplication(io, name, options);
  if (isAboutJob(io, name, options.filename)) return runJobPlan(io, name, options);
  const format = formatOf(options.output, ["json", "yaml"]);
  return withPreviewInput(io, name, options, async (input) => {
    if (input.refusal) return sayRefused(io, format, input.statefulset.metadata, input.refusal);
    const made = forecastOf(input);
    const diffs = options.diff === false ? [] : await diffsOf(input, made);
    const adoptions = adoptionsOf(input);
    const { name: own, namespace } = input.statefulset.metadata;
    const from = input.ledger.currentRevision;
    if (format === "text") {
      const { statefulset, notes } = input;
      const view = {
        name: `${namespace}/${own}`,
        spec: statefulset.spec,
        forecast: made,
        from,
        adoptions,
        diffs,
        notes,
      };
      print(io, planLines(view, styleOf(io)).join("\n"));
    } else {
      const { problems, events, blockedBy, remains, figures, writes, rooms, knownMs, stepsOfUnknownTime } = made;
      printData(io, format, {
        namespace,
        name: own,
        blocked: isBlocked(made),
        currentRevision: from,
        updateRevision: figures.targetRevision,
        problems,
        events,
        blockedBy,
        remains,
        figures,
        writes,
        rooms,
        knownMs,
        stepsOfUnknownTime,
        adoptions,
        diffs,
        notes: input.notes,
      });
    }
    return isBlocked(made) ? BLOCKED : 0;
  });
}

export async function runRender(
  io: Io,
  name: string | undefined,
  options: RenderOptions & GlobalOptions,
): Promise<undefined> {
  if (isAboutApplication(io, name, options.filename)) return renderApplication(io, name, options);
  const format = formatOf(options.output, ["json", "yaml"]);
  return withPreviewInput(io, name, options, async (input) => {
    if (input.refusal) throw new CommandError(`nothing would be dispatched: ${input.refusal.message}`);
    const made = forecastOf(input);
    const clusters = made.grants.map(({ cluster }) => cluster);
    const { cluster } = options;
    if (cluster !== undefined && !clusters.includes(cluster)) {
      const like = nearest(cluster, clusters);
      throw new CommandError(
        `cluster '${cluster}' would get nothing; ${like ? `did you mean '${like}'?` : `these would: ${clusters.join(", ") || "none"}`}`,
      );
    }
    if (isBlocked(made)) {
      const why = made.blockedBy[0]?.message ?? made.problems[0]?.message ?? "";
      io.stderr.write(`warning: it would be blocked before its end (${why}); 'lockstep plan' shows the details\n`);
    }
    for (const note of input.notes) io.stderr.write(`note: ${note}\n`);
    const rendered: { cluster: string; objects: unknown[] }[] = [];
    for (const grant of made.grants) {
      if (cluster !== undefined && grant.cluster !== cluster) continue;
      const manifests = (await manifestsOf(input, made.ledger, grant)) ?? [];
      rendered.push({ cluster: grant.cluster, objects: manifests.map(({ object }) => hideSecrets(object)) });
    }
    if (format === "json") printData(io, format, rendered);
    else {
      const documents = rendered.flatMap((one) =>
        one.objects.map(
          (object) => `# cluster: ${one.cluster}\n${stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })}`,
        ),
      );
      print(io, documents.join("---\n"));
    }
    return undefined;
  });
}

/** Nothing is planned: what the controller would report instead. */
function sayRefused(
  io: Io,
  format: "text" | "json" | "yaml",
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { code, message }: NonNullable<PreviewInput["refusal"]>,
): number {
  if (format !== "text") printData(io, format, { namespace, name, blocked: true, blockedBy: [{ code, message }] });
  else {
    const style = styleOf(io);
    const lines = [style.bold(`${namespace}/${name}`), "", style.bad("It would be blocked:")];
    print(io, [...lines, `  ${style.bold(code)}: ${message}.`].join("\n"));
  }
  return BLOCKED;
}

function forecastOf(input: PreviewInput): Forecast {
  const { statefulset, ledger, observations, intentAt, nowMs, events } = input;
  const leader = statefulset.status?.leader;
  return forecast({
    intentAt,
    ledger,
    observations,
    leader:
      leader?.cluster === undefined
        ? undefined
        : { cluster: leader.cluster, ...(leader.instance !== undefined && { instance: leader.instance }) },
    nowMs,
    durationOf: durationsFrom(events),
  });
}

/** What each cluster runs now, compared with what is requested. */
function adoptionsOf({ baselines, contents, revision: wanted }: PreviewInput): Adoption[] {
  const objects = (revision: string) => {
    const content = contents.get(revision);
    return content ? [content.template, ...content.dependencies] : [];
  };
  return Object.entries(baselines).map(([cluster, { revision, replicas }]) => ({
    cluster,
    revision,
    replicas,
    objects: objectDiff(objects(revision), objects(wanted)),
  }));
}

/** What each cluster has now compared with what it would have at the end. */
async function diffsOf(input: PreviewInput, made: Forecast): Promise<ClusterDiff[]> {
  const places = Object.entries(input.ledger.clusters).sort(([, a], [, b]) => a.index - b.index);
  const clusters = [...new Set([...places.map(([name]) => name), ...made.grants.map(({ cluster }) => cluster)])];
  const diffs: ClusterDiff[] = [];
  for (const cluster of clusters) {
    // What it runs is compared with the template instead.
    if (Object.hasOwn(input.baselines, cluster)) continue;
    const now = input.ledger.clusters[cluster]?.grant;
    const then = made.grants.find((grant) => grant.cluster === cluster);
    const before = now ? ((await manifestsOf(input, input.ledger, now)) ?? []) : [];
    const after = then ? ((await manifestsOf(input, made.ledger, then)) ?? []) : [];
    const objects = manifestDiff(before, after);
    if (objects.length > 0) diffs.push({ cluster, objects });
  }
  return diffs;
}
