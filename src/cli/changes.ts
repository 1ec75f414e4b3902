/** The commands that write: each changes the one field that the controller reads for it, and says what follows. */
import { type ParsedCrossClusterStatefulset, parseCrossClusterStatefulset } from "../api/index.ts";
import { AlreadyExistsError, ConflictError, type KubeObject } from "../kube/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import type { ApproveOptions } from "./approve.ts";
import type { GlobalOptions } from "./command.ts";
import type { ConfirmOptions } from "./confirm.ts";
import { CommandError } from "./errors.ts";
import {
  APPROVALS,
  bareName,
  CLUSTERS,
  findLedger,
  getStatefulset,
  type Hub,
  listStatefulsets,
  STATEFULSETS,
  withHub,
} from "./hub.ts";
import type { Io } from "./io.ts";
import { nearest } from "./nearest.ts";
import { print } from "./output.ts";
import type { ScaleOptions } from "./scale.ts";
import { findTemplate } from "./sources.ts";
import type { UndoOptions } from "./undo.ts";

const FIELD_MANAGER = "lockstep-cli";
/** What an object's name may hold; an approval's name is made of parts that fit. */
const APPROVAL_NAME_CHARS = 253;
const MAX_REPLICAS = 100_000;

type Exit = Promise<undefined>;

export function undo(io: Io, given: string, options: UndoOptions & GlobalOptions): Exit {
  return change(io, given, options, async (hub, object) => {
    const { status } = readStatefulset(object);
    const history = [...(status?.history ?? [])].sort((a, b) => (b.number ?? 0) - (a.number ?? 0));
    const to = options.toRevision;
    const running = status?.updateRevision;
    const found =
      to === undefined
        ? previousRevision(history, status?.currentRevision, running)
        : history.find(({ revision, number }) => revision === to || String(number) === to);
    if (found === undefined) {
      const names = history.map(({ revision, number }) => `${number} (${revision})`);
      const like =
        to === undefined
          ? undefined
          : nearest(
              to,
              history.map(({ revision }) => revision),
            );
      throw new CommandError(
        to === undefined
          ? `${describe(object)} has no earlier revision to go back to`
          : `${describe(object)} has no revision '${to}'${like ? `; did you mean '${like}'?` : `; there are: ${names.join(", ") || "none"}`}`,
      );
    }
    if (found.revision === running && to === undefined) {
      throw new CommandError(`${describe(object)} already goes to ${found.revision}`);
    }
    await patchSpec(hub, object, { undo: { to: found.revision, at: timeNow(hub) } });
    return `${describe(object)} goes back to revision ${found.number ?? "?"} (${found.revision}), in order; it stays there until the template changes`;
  });
}

/** While an update is under way, what it started from; at rest, the revision before the one that runs. */
function previousRevision<R extends { readonly revision: string; readonly number?: number }>(
  history: readonly R[],
  current: string | undefined,
  running: string | undefined,
): R | undefined {
  if (current !== undefined && current !== running) return history.find(({ revision }) => revision === current);
  const at = history.findIndex(({ revision }) => revision === running);
  return at < 0 ? undefined : history[at + 1];
}

export function restart(io: Io, given: string, options: GlobalOptions): Exit {
  return change(io, given, options, async (hub, object) => {
    await patchSpec(hub, object, { restartedAt: timeNow(hub) });
    return `${describe(object)} restarts every instance, in the order of an update`;
  });
}

export function pause(io: Io, given: string, options: GlobalOptions): Exit {
  return change(io, given, options, async (hub, object) => {
    if (readStatefulset(object).spec.updateStrategy.rollingUpdate.paused)
      return `${describe(object)} is paused already`;
    await patchSpec(hub, object, { updateStrategy: { rollingUpdate: { paused: true } } });
    return `${describe(object)} is paused: the step in progress is finished, no other begins; scaling goes on`;
  });
}

export function resume(io: Io, given: string, options: GlobalOptions): Exit {
  return change(io, given, options, async (hub, object) => {
    const { spec } = readStatefulset(object);
    const { paused } = spec.updateStrategy.rollingUpdate;
    await patchSpec(hub, object, {
      resumedAt: timeNow(hub),
      ...(paused && { updateStrategy: { rollingUpdate: { paused: false } } }),
    });
    return `${describe(object)} goes on`;
  });
}

export function approve(io: Io, given: string, options: ApproveOptions & GlobalOptions): Exit {
  return change(io, given, options, async (hub, object) => {
    const { spec, status, metadata } = readStatefulset(object);
    const revision = status?.updateRevision;
    if (revision === undefined || revision === status?.currentRevision) {
      throw new CommandError(`${describe(object)} has no rollout in progress; there is nothing to approve`);
    }
    const waves = spec.updateStrategy.rollingUpdate.waves ?? [];
    const inProgress = (await findLedger(hub, metadata))?.rollout?.wave;
    const wave = waveOf(options.wave, inProgress, waves.length, describe(object));
    const name = `${metadata.name}-${revision}-wave-${wave}`.slice(0, APPROVAL_NAME_CHARS);
    const approval: KubeObject = {
      apiVersion: APPROVALS.apiVersion,
      kind: APPROVALS.kind,
      metadata: { name, namespace: hub.namespace },
      spec: { name: metadata.name, revision, wave, ...(options.comment !== undefined && { comment: options.comment }) },
    };
    try {
      await hub.client.create(APPROVALS, approval, { ...hub.request, fieldManager: FIELD_MANAGER });
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
      return `wave ${wave} of ${describe(object)} is approved already for revision ${revision}`;
    }
    return `wave ${wave} of ${describe(object)} is approved for revision ${revision}`;
  });
}

function waveOf(given: string | undefined, inProgress: number | undefined, waves: number, object: string): number {
  if (waves === 0) throw new CommandError(`${object} has no waves (spec.updateStrategy.rollingUpdate.waves)`);
  const wave = given === undefined ? (inProgress ?? 0) : Number(given);
  if (given !== "" && Number.isInteger(wave) && wave >= 0 && wave < waves) return wave;
  throw new CommandError(
    given === undefined
      ? `${object}: its rollout is past the last wave; there is nothing to approve`
      : `--wave '${given}': ${object} has the waves 0 to ${waves - 1}`,
  );
}

export function scale(io: Io, given: string, options: ScaleOptions & GlobalOptions): Exit {
  return change(io, given, options, async (hub, object) => {
    const { spec } = readStatefulset(object);
    const clusters = spec.topology?.clusters;
    const explicit = clusters?.some(({ replicas }) => replicas !== undefined) ?? false;
    if ((options.replicas === undefined) === (options.cluster === undefined)) {
      throw new CommandError("give either --replicas N or --cluster NAME=N");
    }
    if (options.replicas !== undefined) {
      const replicas = countOf(options.replicas, "--replicas");
      if (explicit) {
        const now = clusters?.map(({ name, replicas: own }) => `${name}=${own ?? 0}`).join(" ");
        throw new CommandError(
          `${describe(object)} names its instances per cluster (spec.topology: ${now}); say where: --cluster NAME=N`,
        );
      }
      if (replicas === 0) await confirm(io, options.yes, `${describe(object)} would be scaled to 0 instances.`);
      const template = spec.topology || spec.replicas !== undefined ? undefined : await countedTemplate(hub, object);
      if (template) {
        await patchReplicas(hub, template, replicas);
        const { kind, metadata } = template;
        return `${kind} ${metadata.namespace}/${metadata.name} is scaled to ${replicas}; the engine's scheduler says where, and one membership change at a time follows`;
      }
      await patchSpec(hub, object, { replicas });
      return `${describe(object)} is scaled to ${replicas}, one membership change at a time`;
    }
    if (!explicit || clusters === undefined) {
      throw new CommandError(
        `${describe(object)} does not name instances per cluster (spec.topology); use --replicas N, or edit spec.topology`,
      );
    }
    const wanted = new Map((options.cluster ?? []).map(readAssignment));
    for (const name of wanted.keys()) {
      if (clusters.some((cluster) => cluster.name === name)) continue;
      const like = nearest(
        name,
        clusters.map((cluster) => cluster.name),
      );
      throw new CommandError(
        `cluster '${name}' is not in spec.topology of ${describe(object)}${like ? `; did you mean '${like}'?` : ""}`,
      );
    }
    const drained = clusters.filter(({ name, replicas = 0 }) => wanted.get(name) === 0 && replicas > 0);
    if (drained.length > 0) {
      const names = drained.map(({ name }) => name).join(", ");
      await confirm(io, options.yes, `Every instance in ${names} would be removed.`);
    }
    const after = clusters.map(({ name, replicas = 0 }) => ({ name, replicas: wanted.get(name) ?? replicas }));
    const total = after.reduce((sum, { replicas }) => sum + replicas, 0);
    await patchSpec(hub, object, {
      topology: { clusters: after },
      ...(spec.replicas !== undefined && { replicas: total }),
    });
    const list = after.map(({ name, replicas }) => `${name}=${replicas}`).join(" ");
    return `${describe(object)} is scaled to ${total} (${list}), one membership change at a time`;
  });
}

/**
 * The template, where it counts its instances in spec.replicas. Where the engine schedules, the template is what its
 * scheduler reads: scaling it also reaches clusters that hold nothing yet, which no proportion of today's schedule does.
 */
async function countedTemplate(hub: Hub, object: KubeObject): Promise<KubeObject | undefined> {
  const template = await findTemplate(hub, readStatefulset(object), []);
  return isJsonObject(template.spec) && typeof template.spec.replicas === "number" ? template : undefined;
}

async function patchReplicas(hub: Hub, template: KubeObject, replicas: number): Promise<void> {
  const { apiVersion, kind, metadata } = template;
  const { name, namespace, resourceVersion } = metadata;
  const of = await hub.client.discovery.resource(apiVersion, kind, hub.request);
  const body: JsonObject = {
    ...(resourceVersion !== undefined && { metadata: { resourceVersion } }),
    spec: { replicas },
  };
  const options = { ...hub.request, fieldManager: FIELD_MANAGER };
  await hub.client.patch(of, { name, ...(namespace !== undefined && { namespace }) }, { type: "merge", body }, options);
}

export function confirmLost(
  io: Io,
  cluster: string,
  given: string | undefined,
  options: ConfirmOptions & GlobalOptions,
): Exit {
  return withHub(io, options, async (hub) => {
    const objects = await namedUsers(hub, cluster, given);
    const found = await hub.client.find(CLUSTERS, { name: cluster }, hub.request);
    if (found && isReady(found)) {
      throw new CommandError(
        `Cluster ${cluster} is Ready: its instances are not lost. To move them away, set it to 0 in spec.topology (lockstep scale NAME --cluster ${cluster}=0), or take it out of the PropagationPolicy`,
      );
    }
    const names = objects.map(describe).join(", ");
    await confirm(
      io,
      options.yes,
      `The instances of ${names} in ${cluster} would count as gone for good. If they are alive after all, the application may end up with two halves.`,
    );
    const at = timeNow(hub);
    for (const object of objects) {
      const { failover } = readStatefulset(object).spec;
      const others = (failover.confirmedLost ?? []).filter(({ name }) => name !== cluster);
      await patchSpec(hub, object, { failover: { confirmedLost: [...others, { name: cluster, at }] } });
      print(io, `${describe(object)}: ${cluster} is confirmed lost`);
    }
    return undefined;
  });
}

export function confirmDrain(
  io: Io,
  cluster: string,
  given: string | undefined,
  options: ConfirmOptions & GlobalOptions,
): Exit {
  return withHub(io, options, async (hub) => {
    const objects = await namedUsers(hub, cluster, given);
    const names = objects.map(describe).join(", ");
    await confirm(io, options.yes, `The instances of ${names} in ${cluster} would be removed, one after the other.`);
    for (const object of objects) {
      const { failover } = readStatefulset(object).spec;
      const confirmedDrain = [...new Set([...(failover.confirmedDrain ?? []), cluster])];
      await patchSpec(hub, object, { failover: { confirmedDrain } });
      print(io, `${describe(object)}: ${cluster} may be drained`);
    }
    return undefined;
  });
}

/** The named object, or all of the namespace that use the cluster; never none. */
async function namedUsers(hub: Hub, cluster: string, given: string | undefined): Promise<KubeObject[]> {
  const objects = given === undefined ? await usersOf(hub, cluster) : [await getStatefulset(hub, given)];
  for (const object of objects) checkUses(object, cluster);
  if (objects.length > 0) return objects;
  throw new CommandError(
    `no CrossClusterStatefulset of namespace ${hub.namespace} uses cluster '${cluster}'; check the name, or use -n`,
  );
}

async function usersOf(hub: Hub, cluster: string): Promise<KubeObject[]> {
  const items = await listStatefulsets(hub, hub.namespace);
  return items.filter((object) => clustersOf(object).includes(cluster));
}

function checkUses(object: KubeObject, cluster: string): void {
  const clusters = clustersOf(object);
  if (clusters.includes(cluster)) return;
  const like = nearest(cluster, clusters);
  throw new CommandError(
    `${describe(object)} has nothing in cluster '${cluster}'; ${like ? `did you mean '${like}'?` : `it uses ${clusters.join(", ") || "none"}`}`,
  );
}

function clustersOf(object: KubeObject): string[] {
  const parsed = parseCrossClusterStatefulset(object);
  if (!parsed.ok) return [];
  const { spec, status } = parsed.value;
  const named = (spec.topology?.clusters ?? []).map(({ name }) => name);
  return [...new Set([...named, ...(status?.clusters ?? []).map(({ name }) => name)])];
}

function isReady(cluster: KubeObject): boolean {
  const status = isJsonObject(cluster.status) ? cluster.status : {};
  const conditions = Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
  return conditions.some((condition) => condition.type === "Ready" && condition.status === "True");
}

function change(
  io: Io,
  given: string,
  options: GlobalOptions,
  make: (hub: Hub, object: KubeObject) => Promise<string>,
): Exit {
  return withHub(io, options, async (hub) => {
    print(io, await make(hub, await getStatefulset(hub, bareName(given))));
    return undefined;
  });
}

/** Dangerous things are said in words, and need a yes: typed, or given with --yes where nobody can be asked. */
async function confirm(io: Io, yes: boolean | undefined, consequence: string): Promise<void> {
  if (yes === true) return;
  if (!io.canAsk) throw new CommandError(`${consequence} Nobody can be asked here: say --yes if that is meant`);
  const answer = await io.ask(`${consequence} Go on? Type 'yes': `);
  if (answer.trim().toLowerCase() !== "yes") throw new CommandError("nothing was changed");
}

/** The controller writes the status all the time; so often in a row it comes between a read and a write at most. */
const PATCH_ATTEMPTS = 10;

/** A compare-and-swap on the spec: whoever changed it since it was read has not been overwritten unseen. */
async function patchSpec(hub: Hub, object: KubeObject, spec: JsonObject): Promise<void> {
  const { name, namespace, generation } = object.metadata;
  const at = { name, ...(namespace !== undefined && { namespace }) };
  let { resourceVersion } = object.metadata;
  for (let attempt = 1; ; attempt++) {
    const metadata: JsonObject = resourceVersion === undefined ? {} : { resourceVersion };
    const patch = { type: "merge", body: { metadata, spec } } as const;
    try {
      await hub.client.patch(STATEFULSETS, at, patch, { ...hub.request, fieldManager: FIELD_MANAGER });
      return;
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      const now = await hub.client.get(STATEFULSETS, at, hub.request);
      if (now.metadata.generation !== generation || attempt === PATCH_ATTEMPTS) {
        throw new CommandError(
          `${describe(object)} was changed by somebody else at the same moment; nothing was written. Look at it, and try again`,
          { cause: error },
        );
      }
      resourceVersion = now.metadata.resourceVersion;
    }
  }
}

function readStatefulset(object: KubeObject): ParsedCrossClusterStatefulset {
  const parsed = parseCrossClusterStatefulset(object);
  if (parsed.ok) return parsed.value;
  const errors = parsed.errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new CommandError(`${describe(object)} is not valid: ${errors}. Put that right first`);
}

function describe({ metadata }: KubeObject): string {
  return `CrossClusterStatefulset ${metadata.namespace}/${metadata.name}`;
}

function countOf(text: string, option: string): number {
  const number = Number(text);
  if (text.trim() !== "" && Number.isInteger(number) && number >= 0 && number <= MAX_REPLICAS) return number;
  throw new CommandError(`${option} '${text}' must be a whole number from 0 to ${MAX_REPLICAS}`);
}

function readAssignment(text: string): [string, number] {
  const equals = text.indexOf("=");
  if (equals <= 0) throw new CommandError(`--cluster '${text}': give NAME=N, such as member1=3`);
  return [text.slice(0, equals), countOf(text.slice(equals + 1), `--cluster ${text.slice(0, equals)}`)];
}

function timeNow({ clock }: Hub): string {
  return `${new Date(clock.now()).toISOString().slice(0, 19)}Z`;
}
