/** `render` and `plan` of an application: what each cluster would get, and what would change there. */
import type { ParsedDistributedApplication } from "../../api/index.ts";
import { toYaml, yamlDiff } from "../../interpret/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import { hideSecrets } from "../preview/rendering.ts";
import type { Io } from "../terminal/io.ts";
import { formatOf, print, printData, type Style, styleOf } from "../terminal/output.ts";
import { describeApplication } from "./kind.ts";
import { type Placed, type Subject, type SubjectOptions, withSubject } from "./subject.ts";

export interface RenderingOptions extends SubjectOptions {
  readonly cluster?: string;
  readonly output?: string;
  readonly diff?: boolean;
}

/** What happens to the objects of one cluster. No value of a Secret is in it. */
export interface ClusterChanges {
  readonly cluster: string;
  readonly added: readonly string[];
  readonly changed: ReadonlyArray<{ readonly key: string; readonly diff: readonly string[] }>;
  readonly removed: ReadonlyArray<{ readonly key: string; readonly stays?: string }>;
  readonly hooks: readonly string[];
}

export function renderApplication(io: Io, name: string | undefined, options: RenderingOptions): Promise<undefined> {
  const format = formatOf(options.output, ["json", "yaml"]);
  return withSubject(io, name, options, async (subject) => {
    const { clusters } = subject;
    const wanted = options.cluster === undefined ? clusters : [options.cluster];
    if (options.cluster !== undefined && !clusters.includes(options.cluster)) {
      throw new CommandError(
        `--cluster ${options.cluster}: the application is not in that cluster; it is in ${clusters.join(", ")}`,
      );
    }
    for (const note of subject.notes) io.stderr.write(`note: ${note}\n`);
    const rendered = wanted.map((cluster) => ({
      cluster,
      objects: subject.all(cluster).map((object) => hideSecrets(object)),
    }));
    if (format === "json") printData(io, "json", rendered);
    else {
      for (const { cluster, objects } of rendered) {
        print(io, `# cluster ${cluster}`);
        for (const object of objects) print(io, `---\n${toYaml(object).trimEnd()}`);
      }
    }
    return undefined;
  });
}

export function planApplication(io: Io, name: string | undefined, options: RenderingOptions): Promise<number> {
  const format = formatOf(options.output, ["json", "yaml"]);
  return withSubject(io, name, options, async (subject) => {
    const { app, leaving } = subject;
    const changes = [...inOrder(app, subject.clusters), ...leaving].map((cluster) => changesIn(subject, cluster));
    for (const note of subject.notes) io.stderr.write(`note: ${note}\n`);
    if (format !== "text") printData(io, format, changes);
    else print(io, planLines(subject, changes, options.diff !== false, styleOf(io)).join("\n"));
    return 0;
  });
}

function planLines(
  { app, clusters, leaving }: Subject,
  changes: readonly ClusterChanges[],
  withDiff: boolean,
  style: Style,
): string[] {
  const title = style.bold(describeApplication(app));
  const isQuiet = changes.every(
    ({ added, changed, removed, hooks }) => added.length + changed.length + removed.length + hooks.length === 0,
  );
  if (isQuiet) return [`${title}: nothing changes in ${clusters.join(", ")}`];
  const lines = [
    `${title}: ${app.spec.rollout.maxUnavailableClusters} of ${clusters.length} clusters at a time, in this order`,
  ];
  for (const [index, { cluster, added, changed, removed, hooks }] of changes.entries()) {
    const counts = `${added.length} new, ${changed.length} changed, ${removed.length} removed`;
    lines.push(`${index + 1}. ${style.bold(cluster)}  ${counts}${leaving.includes(cluster) ? " (it leaves)" : ""}`);
    for (const key of added) lines.push(`   + ${key}`);
    for (const { key, diff } of changed) {
      lines.push(`   ~ ${key}`);
      if (withDiff) for (const line of diff) lines.push(`       ${line}`);
    }
    for (const { key, stays } of removed) lines.push(`   - ${key}${stays === undefined ? "" : ` (stays: ${stays})`}`);
    for (const hook of hooks) lines.push(`   > ${hook}`);
  }
  return lines;
}

function inOrder({ spec }: ParsedDistributedApplication, clusters: readonly string[]): string[] {
  const waves = spec.rollout.waves ?? [];
  const waveOf = (cluster: string) => {
    const found = waves.findIndex((wave) => wave.clusters.includes(cluster));
    return found < 0 ? waves.length : found;
  };
  return [...clusters].sort((a, b) => waveOf(a) - waveOf(b));
}

function changesIn(subject: Subject, cluster: string): ClusterChanges {
  const isLeaving = subject.leaving.includes(cluster);
  const old = byKey(subject.before(cluster) ?? []);
  const now = byKey(isLeaving ? [] : subject.after(cluster));
  return {
    cluster,
    added: [...now.keys()].filter((key) => !old.has(key)),
    changed: [...now.values()].flatMap(({ key, object }) => {
      const previous = old.get(key)?.object;
      if (!previous) return [];
      const diff = previous.omitted === true ? outlineDiff(previous, object) : secretlyDiff(previous, object);
      return diff.length > 0 ? [{ key, diff }] : [];
    }),
    removed: [...old.values()]
      .filter(({ key }) => !now.has(key))
      .map(({ key, part }) => {
        const stays = staying(subject.app, part, isLeaving);
        return { key, ...(stays !== undefined && { stays }) };
      }),
    hooks: isLeaving ? [] : subject.hooks(cluster),
  };
}

/** Why an object stays in the cluster although the application no longer has it. */
function staying(
  { spec }: ParsedDistributedApplication,
  { keep, isCrd, isImplicit }: Placed["part"],
  isLeaving: boolean,
): string | undefined {
  if (isImplicit) return "a namespace is never deleted";
  if (isCrd) return "a CustomResourceDefinition is never deleted";
  if (keep) return "helm.sh/resource-policy: keep";
  if (isLeaving) return spec.deletionPolicy === "Release" ? "deletionPolicy is Release" : undefined;
  return spec.prune ? undefined : "prune is false";
}

function byKey(placed: readonly Placed[]): Map<string, Placed> {
  return new Map(placed.map((each) => [each.key, each]));
}

/** Of a large revision, or of a Secret, only the name is known, and of a Secret perhaps its values. */
function outlineDiff(previous: JsonObject, object: JsonObject): string[] {
  if (object.kind !== "Secret" || !isJsonObject(previous.data)) return [];
  const texts = Object.entries(isJsonObject(object.stringData) ? object.stringData : {});
  const encoded = texts.map(([key, text]) => [key, Buffer.from(String(text)).toString("base64")]);
  const data = { ...(isJsonObject(object.data) ? object.data : {}), ...Object.fromEntries(encoded) };
  const { apiVersion, kind } = object;
  return secretlyDiff({ apiVersion, kind, data: previous.data }, { apiVersion, kind, data });
}

function secretlyDiff(previous: JsonObject, object: JsonObject): string[] {
  return yamlDiff(hideSecrets(previous), hideSecrets(object, previous));
}
