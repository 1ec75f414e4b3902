import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { Failed, Interpreter, Pending } from "../../../interpret/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { labelSelectorMatches } from "../../../render/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";
import type { HubReader } from "../../common/hub/hub-reader.ts";

export type TemplateFound =
  | { readonly kind: "one"; readonly object: KubeObject }
  | { readonly kind: "none"; readonly message: string }
  /** `notServed`: the hub does not serve the kind, which no waiting mends. */
  | { readonly kind: "unknown"; readonly message: string; readonly notServed?: string };

/**
 * The inline template as the object that it stands for; undefined: the template is an object on the hub. It has the
 * CrossClusterStatefulset's uid and generation, because every edit of it is one of that object.
 */
export function inlineTemplate({ metadata, spec }: ParsedCrossClusterStatefulset): KubeObject | undefined {
  const { template, resourceSelector } = spec;
  if (template === undefined) return undefined;
  const { apiVersion, kind, namespace, name = metadata.name } = resourceSelector;
  const { status: _none, metadata: given, ...content } = template;
  const { labels, annotations } = isJsonObject(given) ? given : {};
  const { uid, generation } = metadata;
  return {
    ...content,
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      ...(isTexts(labels) && { labels }),
      ...(isTexts(annotations) && { annotations }),
      ...(uid !== undefined && { uid }),
      ...(generation !== undefined && { generation, resourceVersion: String(generation) }),
    },
  };
}

function isTexts(value: Json | undefined): value is Record<string, string> {
  return isJsonObject(value) && Object.values(value).every((each) => typeof each === "string");
}

/**
 * The inline template, or the object on the hub that the selector means; a selector by label must match exactly one.
 */
export function findTemplate(
  hubObjects: HubReader,
  key: string,
  statefulset: ParsedCrossClusterStatefulset,
): TemplateFound {
  const inline = inlineTemplate(statefulset);
  if (inline) return { kind: "one", object: inline };
  const { apiVersion, kind, namespace, name, labelSelector } = statefulset.spec.resourceSelector;
  const named = (only: string): TemplateFound => {
    const found = hubObjects.get(key, { apiVersion, kind, namespace, name: only });
    if (found.kind === "present") return { kind: "one", object: found.object };
    if (found.kind === "unknown") return found;
    return { kind: "none", message: `${kind} ${namespace}/${only} does not exist` };
  };
  if (name !== undefined) return named(name);
  const all = hubObjects.list(key, { apiVersion, kind, namespace });
  if (!all) {
    const notServed = hubObjects.notServed({ apiVersion, kind });
    const message = notServed ?? `${kind} has not been listed yet`;
    return { kind: "unknown", message, ...(notServed !== undefined && { notServed }) };
  }
  const selector: JsonObject = JSON.parse(JSON.stringify(labelSelector ?? {}));
  const matching = all.filter(({ metadata }) => labelSelectorMatches(selector, metadata.labels ?? {}));
  const [only] = matching;
  if (matching.length === 1 && only) return named(only.metadata.name);
  const names = matching.map(({ metadata }) => metadata.name).join(", ");
  return {
    kind: "none",
    message:
      `the labelSelector matches ${matching.length} objects of kind ` +
      `${kind}${names && `: ${names}`}; it must match exactly one`,
  };
}

/**
 * What a person reads where the hub does not serve the selected kind; undefined: it is not known yet, and is waited
 * for.
 */
export function unknownKindText({ notServed }: Extract<TemplateFound, { kind: "unknown" }>): string | undefined {
  if (notServed === undefined) return undefined;
  return (
    `${notServed}. Install its CustomResourceDefinition on the hub; or, since resourceSelector ` +
    "cannot be edited, delete this object and create it again with the right apiVersion and kind."
  );
}

/** A StatefulSet's first ordinal. */
export function ordinalsStart(object: KubeObject): number {
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const start = isJsonObject(spec.ordinals) ? spec.ordinals.start : undefined;
  return typeof start === "number" ? start : 0;
}

/** How many instances it asks for. If the kind has no interpreter, this reads the field that a grant writes. */
export function replicasIn(interpreter: Pick<Interpreter, "interpret">, object: KubeObject): number | undefined {
  return sizeIn(interpreter, object).replicas;
}

/** The same, with what one instance requests, as far as that is known. */
export function sizeIn(interpreter: Pick<Interpreter, "interpret">, object: KubeObject): TemplateSize {
  const outcome = interpreter.interpret("InterpretReplica", { object });
  if (outcome.state !== "known") return { replicas: assumedReplicas(outcome, object), request: {} };
  return { replicas: outcome.value.replicas, request: outcome.value.requirements?.resourceRequest ?? {} };
}

export interface TemplateSize {
  readonly replicas: number | undefined;
  readonly request: Readonly<Record<string, string>>;
}

function assumedReplicas(outcome: Pending | Failed, object: KubeObject): number | undefined {
  if (outcome.state === "pending" || outcome.code !== "NoInterpreter") return undefined;
  const { replicas } = isJsonObject(object.spec) ? object.spec : {};
  return typeof replicas === "number" ? replicas : undefined;
}
