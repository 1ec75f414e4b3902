import type { ParsedCrossClusterStatefulset } from "../../api/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { labelSelectorMatches } from "../../render/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { HubObjects } from "./hub-objects.ts";

export type TemplateFound =
  | { readonly kind: "one"; readonly object: KubeObject }
  | { readonly kind: "none"; readonly message: string }
  | { readonly kind: "unknown"; readonly message: string };

/** The object on the hub that the selector means; a selector by label must match exactly one. */
export function findTemplate(
  hubObjects: HubObjects,
  key: string,
  statefulset: ParsedCrossClusterStatefulset,
): TemplateFound {
  const { apiVersion, kind, namespace, name, labelSelector } = statefulset.spec.resourceSelector;
  if (name !== undefined) {
    const found = hubObjects.get(key, { apiVersion, kind, namespace, name });
    if (found.kind === "present") return { kind: "one", object: found.object };
    if (found.kind === "unknown") return found;
    return { kind: "none", message: `${kind} ${namespace}/${name} does not exist` };
  }
  const all = hubObjects.list(key, { apiVersion, kind, namespace });
  if (!all) return { kind: "unknown", message: `${kind} has not been listed yet` };
  const selector: JsonObject = JSON.parse(JSON.stringify(labelSelector ?? {}));
  const matching = all.filter(({ metadata }) => labelSelectorMatches(selector, metadata.labels ?? {}));
  const [only] = matching;
  if (matching.length === 1 && only) return { kind: "one", object: only };
  const names = matching.map(({ metadata }) => metadata.name).join(", ");
  return {
    kind: "none",
    message: `the labelSelector matches ${matching.length} objects of kind ${kind}${names && `: ${names}`}; it must match exactly one`,
  };
}

/** A StatefulSet's first ordinal. */
export function ordinalsStart(object: KubeObject): number {
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const start = isJsonObject(spec.ordinals) ? spec.ordinals.start : undefined;
  return typeof start === "number" ? start : 0;
}

/** How many instances it asks for. Of a kind that nobody has taught: what is written there when it is granted, too. */
export function replicasIn(interpreter: Pick<Interpreter, "interpret">, object: KubeObject): number | undefined {
  const outcome = interpreter.interpret("InterpretReplica", { object });
  if (outcome.state === "known") return outcome.value.replicas;
  if (outcome.state === "pending" || outcome.code !== "NoInterpreter") return undefined;
  const { replicas } = isJsonObject(object.spec) ? object.spec : {};
  return typeof replicas === "number" ? replicas : undefined;
}
