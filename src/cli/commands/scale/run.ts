import type { KubeObject } from "../../../kube/index.ts";
import { MAX_INSTANCES } from "../../../plan/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { CommandError } from "../../errors.ts";
import { change, describe, FIELD_MANAGER, patchSpec, readStatefulset } from "../../hub/change.ts";
import type { Hub } from "../../hub/hub.ts";
import type { GlobalOptions } from "../../options.ts";
import { findTemplate } from "../../preview/sources.ts";
import { confirm } from "../../terminal/confirm.ts";
import type { Io } from "../../terminal/io.ts";
import { nearest } from "../../terminal/nearest.ts";
import type { ScaleOptions } from "./command.ts";

export function runScale(io: Io, given: string, options: ScaleOptions & GlobalOptions): Promise<undefined> {
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
          `${describe(object)} sets its instances per cluster (spec.topology: ${now}); name the cluster: --cluster NAME=N`,
        );
      }
      if (replicas === 0) await confirm(io, options.yes, `${describe(object)} would be scaled to 0 instances.`);
      const template = spec.topology || spec.replicas !== undefined ? undefined : await countedTemplate(hub, object);
      if (template) {
        await patchReplicas(hub, template, replicas);
        const { kind, metadata } = template;
        return `${kind} ${metadata.namespace}/${metadata.name} is scaled to ${replicas}; the engine's scheduler chooses the clusters, and membership changes follow one at a time`;
      }
      await patchSpec(hub, object, { replicas });
      return `${describe(object)} is scaled to ${replicas}, one membership change at a time`;
    }
    if (!explicit || clusters === undefined) {
      throw new CommandError(
        `${describe(object)} does not set instances per cluster (spec.topology); use --replicas N, or edit spec.topology`,
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
 * The template, if it has spec.replicas. If the engine schedules, its scheduler reads the template: scaling it also
 * reaches clusters without instances, which no proportion of the current schedule does.
 */
async function countedTemplate(hub: Hub, object: KubeObject): Promise<KubeObject | undefined> {
  const template = await findTemplate(hub, readStatefulset(object));
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

function countOf(text: string, option: string): number {
  const number = Number(text);
  if (text.trim() !== "" && Number.isInteger(number) && number >= 0 && number <= MAX_INSTANCES) return number;
  throw new CommandError(`${option} '${text}' must be a whole number from 0 to ${MAX_INSTANCES}`);
}

function readAssignment(text: string): [string, number] {
  const equals = text.indexOf("=");
  if (equals <= 0) throw new CommandError(`--cluster '${text}': give NAME=N, such as member1=3`);
  return [text.slice(0, equals), countOf(text.slice(equals + 1), `--cluster ${text.slice(0, equals)}`)];
}
