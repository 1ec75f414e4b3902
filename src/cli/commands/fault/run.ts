import { parseCrossClusterStatefulset, selectedWorkload } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { CommandError } from "../../errors.ts";
import { patchSpec } from "../../hub/change.ts";
import { getStatefulset, type Hub, listStatefulsets, withHub } from "../../hub/hub.ts";
import { imageOf, withImage, withoutTag } from "../../hub/template-image.ts";
import { type FleetMember, fleetKubeconfig, membersOf, steer } from "../../hub/up-fleet.ts";
import type { GlobalOptions } from "../../options.ts";
import { findTemplate } from "../../preview/sources.ts";
import type { Io } from "../../terminal/io.ts";
import { nearest } from "../../terminal/nearest.ts";
import { print } from "../../terminal/output.ts";
import type { FaultImageOptions } from "./command.ts";

/** On the template while its image is broken: the original image. Keys of this domain never reach a member. */
const IMAGE_BEFORE = "lockstep.karmada.io/image-before-fault";
const FAULTY = /:(?:broken|missing)$/;
const FIELD_MANAGER = "lockstep-fault";

export function faultImage(io: Io, given: string, options: FaultImageOptions & GlobalOptions): Promise<undefined> {
  return onFleet(io, options, async (hub) => {
    const object = await getStatefulset(hub, given);
    const template = await templateOf(hub, object);
    const { name } = object.metadata;
    const before = imageOf(template);
    if (before === undefined) throw new CommandError(`${describe(template)} has no image to break`);
    const broken = `${withoutTag(before)}:${options.missing ? "missing" : "broken"}`;
    const kept = template.metadata.annotations?.[IMAGE_BEFORE] ?? before;
    if (before === broken) print(io, `${describe(template)} already has the image ${broken}`);
    else {
      const found = { owner: object, template };
      await patch(hub, found, { annotations: { [IMAGE_BEFORE]: kept } }, withImage(template, broken));
      const what = options.missing ? "which cannot be pulled" : "which crashes";
      print(io, `${describe(template)} now has the image ${broken}, ${what}; before it had ${before}`);
    }
    print(io, `See the effect: ${io.program} status ${name} -w, and ${io.program} why ${name}`);
    print(io, `Undo it: ${io.program} fault heal, or ${io.program} undo ${name}`);
    return undefined;
  });
}

export function faultCut(io: Io, cluster: string, options: GlobalOptions): Promise<undefined> {
  return onFleet(io, options, async (hub, members) => {
    checkMember(members, cluster);
    await steer(hub, cluster, "cut");
    print(io, `${cluster} is disconnected from the hub; its instances keep running`);
    print(io, `Reconnect it: ${io.program} fault heal ${cluster}`);
    return undefined;
  });
}

export function faultHeal(io: Io, cluster: string | undefined, options: GlobalOptions): Promise<undefined> {
  return onFleet(io, options, async (hub, members) => {
    if (cluster !== undefined) checkMember(members, cluster);
    const away = members.filter(({ name, reachable }) => !reachable && (cluster === undefined || name === cluster));
    for (const { name } of away) {
      await steer(hub, name, "mend");
      print(io, `${name} is connected again`);
    }
    const broken = cluster === undefined ? await brokenTemplates(hub) : [];
    for (const { owner, template, before } of broken) {
      await patch(hub, { owner, template }, { annotations: { [IMAGE_BEFORE]: null } }, withImage(template, before));
      print(io, `${describe(template)} has the image ${before} again`);
    }
    if (away.length + broken.length === 0) {
      print(io, cluster === undefined ? "nothing is broken" : `${cluster} is connected`);
    }
    return undefined;
  });
}

export function faultList(io: Io, options: GlobalOptions): Promise<undefined> {
  return onFleet(io, options, async (hub, members) => {
    const away = members.filter(({ reachable }) => !reachable);
    for (const { name } of away) print(io, `${name} is disconnected`);
    const broken = await brokenTemplates(hub);
    for (const { template, before } of broken) {
      print(io, `${describe(template)} has the image ${imageOf(template)}; before the fault it had ${before}`);
    }
    if (away.length + broken.length === 0) print(io, "nothing is broken");
    return undefined;
  });
}

/** Throws if the hub is not a fleet of `up`, before anything is done. */
async function onFleet(
  io: Io,
  options: GlobalOptions,
  act: (hub: Hub, members: readonly FleetMember[]) => Promise<undefined>,
): Promise<undefined> {
  return withHub(io, { ...options, kubeconfig: fleetKubeconfig(io, options) }, async (hub) =>
    act(hub, await membersOf(hub, io.program)),
  );
}

function checkMember(members: readonly FleetMember[], cluster: string): void {
  const names = members.map(({ name }) => name);
  if (names.includes(cluster)) return;
  const like = nearest(cluster, names);
  throw new CommandError(
    `the fleet has no cluster '${cluster}'; ${like ? `did you mean '${like}'?` : `there are ${names.join(", ")}`}`,
  );
}

/** A template, and the CrossClusterStatefulset that selects it or carries it inline. */
interface Found {
  readonly owner: KubeObject;
  readonly template: KubeObject;
}

/** Of all namespaces: a heal without a name repairs everything. */
async function brokenTemplates(hub: Hub): Promise<(Found & { before: string })[]> {
  const found: (Found & { before: string })[] = [];
  for (const object of await listStatefulsets(hub, undefined)) {
    const template = await templateOf(hub, object).catch(() => undefined);
    const before = template?.metadata.annotations?.[IMAGE_BEFORE];
    // An image that was edited since no longer belongs to the fault.
    const isFaulty = template !== undefined && FAULTY.test(imageOf(template) ?? "");
    if (isFaulty && before !== undefined) found.push({ owner: object, template, before });
  }
  return found;
}

async function templateOf(hub: Hub, object: KubeObject): Promise<KubeObject> {
  const parsed = parseCrossClusterStatefulset(object);
  if (!parsed.ok) throw new CommandError(`${describe(object)} is not valid; correct its spec first`);
  return findTemplate(hub, parsed.value);
}

/** Only if nothing has changed since it was read. */
async function patch(hub: Hub, { owner, template }: Found, metadata: JsonObject, spec: JsonObject): Promise<void> {
  if (selectedWorkload(owner)?.isInline) return patchSpec(hub, owner, { template: { metadata, spec } });
  const { apiVersion, kind } = template;
  const { name, namespace, resourceVersion } = template.metadata;
  const of = await hub.client.discovery.resource(apiVersion, kind, hub.request);
  const body: JsonObject = { metadata: { ...metadata, ...(resourceVersion && { resourceVersion }) }, spec };
  const options = { ...hub.request, fieldManager: FIELD_MANAGER };
  await hub.client.patch(of, { name, ...(namespace !== undefined && { namespace }) }, { type: "merge", body }, options);
}

function describe({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}
