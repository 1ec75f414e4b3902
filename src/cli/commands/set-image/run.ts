import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";
import { CommandError } from "../../errors.ts";
import { change, describe, patchSpec, readStatefulset } from "../../hub/change.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { nearest } from "../../terminal/nearest.ts";

/** Stands for every container, as in `kubectl set image`. */
const ALL = "*";
const LISTS = ["initContainers", "containers"] as const;

export function runSetImage(
  io: Io,
  given: string,
  assignments: readonly string[],
  options: GlobalOptions,
): Promise<undefined> {
  const images = new Map(assignments.map(readAssignment));
  return change(io, given, options, async (hub, object) => {
    const { spec } = readStatefulset(object);
    if (spec.template === undefined) throw new CommandError(useKubectl(object, spec, assignments));
    const { pod, changed } = withImages(object, spec.template, images);
    if (changed.length === 0) return `${describe(object)} has these images already`;
    await patchSpec(hub, object, { template: { spec: { template: { spec: pod } } } });
    return `${describe(object)} now says ${changed.join(", ")}; the update goes through the clusters in order`;
  });
}

function useKubectl(
  object: KubeObject,
  { resourceSelector }: ParsedCrossClusterStatefulset["spec"],
  assignments: readonly string[],
): string {
  const { kind, name, namespace } = resourceSelector;
  const what = `${describe(object)} has no spec.template: its template is an object on the hub`;
  if (kind !== "StatefulSet")
    return `${what}; edit it: kubectl edit ${kind.toLowerCase()} ${name ?? "NAME"} -n ${namespace}`;
  return `${what}; use kubectl set image statefulset/${name ?? "NAME"} ${assignments.join(" ")} -n ${namespace}`;
}

/** The container lists of the pod template as a merge patch, which replaces lists as a whole. */
function withImages(
  object: KubeObject,
  template: JsonObject,
  images: ReadonlyMap<string, string>,
): { pod: JsonObject; changed: string[] } {
  const podSpec = fieldsOf(fieldsOf(fieldsOf(template.spec).template).spec);
  const lists = LISTS.flatMap((list) => (Array.isArray(podSpec[list]) ? [{ list, containers: podSpec[list] }] : []));
  const names = lists.flatMap(({ containers }) => containers.map((container) => String(fieldsOf(container).name)));
  if (names.length === 0) {
    throw new CommandError(
      `spec.template of ${describe(object)} has no containers in spec.template.spec.containers; edit it: kubectl edit ccs ${object.metadata.name} -n ${object.metadata.namespace}`,
    );
  }
  for (const name of images.keys()) {
    if (name === ALL || names.includes(name)) continue;
    const like = nearest(name, names);
    throw new CommandError(
      `spec.template of ${describe(object)} has no container '${name}'; ${like ? `did you mean '${like}'?` : `there are ${names.join(", ")}`}`,
    );
  }
  const changed: string[] = [];
  const pod: JsonObject = {};
  for (const { list, containers } of lists) {
    pod[list] = containers.map((each) => {
      const container = fieldsOf(each);
      const image = images.get(String(container.name)) ?? images.get(ALL);
      if (image === undefined || image === container.image) return each;
      changed.push(`${container.name}=${image}`);
      return { ...container, image };
    });
  }
  return { pod, changed };
}

function readAssignment(text: string): [string, string] {
  const equals = text.indexOf("=");
  const [name, image] = [text.slice(0, equals), text.slice(equals + 1)];
  if (equals <= 0 || image === "") {
    throw new CommandError(`'${text}': give CONTAINER=IMAGE, such as web=example.com/web:2`);
  }
  return [name, image];
}

function fieldsOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
