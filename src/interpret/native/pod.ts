/** The requirements of a pod template: the same arithmetic that scripts get as `kube`, with typed results. */
import type { JsonObject } from "../../runtime/index.ts";
import { BadObject, textMapAt } from "../fields.ts";
import {
  podRequirements as computedRequirements,
  podDependencies as namedDependencies,
  WrongShape,
} from "../lua/pods.ts";
import { QuantityError } from "../lua/quantity.ts";
import type { Dependency, ReplicaRequirements } from "../operations.ts";
import { parseDependencies, parseRequirements } from "../results.ts";

export function podRequirements(template: JsonObject): ReplicaRequirements | undefined {
  return reading(() => {
    const computed = computedRequirements(template);
    const requirements = parseRequirements(computed, "requirements");
    // Computed quantities keep their unit (2000 bytes are not 2k), which parsing their text again would lose.
    const resourceRequest = computed && textMapAt(computed, "resourceRequest");
    return requirements && { ...requirements, ...(resourceRequest && { resourceRequest }) };
  });
}

/** ConfigMaps, Secrets, claims and the service account that the template names, in the owner's namespace. */
export function podDependencies(template: JsonObject, namespace: string | undefined): Dependency[] {
  return reading(() => parseDependencies(namedDependencies(template, namespace ?? ""), "dependencies"));
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WrongShape || error instanceof QuantityError) throw new BadObject(error.message);
    throw error;
  }
}
