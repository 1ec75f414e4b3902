import type { Dependency } from "../../interpret/index.ts";
import type { HubRef } from "./hub/hub-objects.ts";
import { type Answer, isUnanswered, type Unanswered } from "./interpreted.ts";

/** What travels with a grant. Everything else that a template may name is the cluster's own. */
const CARRIED_KINDS = new Set(["v1/ConfigMap", "v1/Secret", "v1/ServiceAccount"]);

export interface CarriedRefs {
  readonly kind: "refs";
  readonly refs: readonly HubRef[];
}

/**
 * The dependencies that travel with a template. One of another namespace is refused before it is read: the controller
 * may read what the template's author may not.
 */
export function carriedRefs(answer: Answer<readonly Dependency[]>, namespace: string): CarriedRefs | Unanswered {
  if (isUnanswered(answer)) return answer;
  const refs: HubRef[] = [];
  for (const { apiVersion, kind, name, namespace: own } of answer.kind === "known" ? answer.value : []) {
    if (name === undefined || !CARRIED_KINDS.has(`${apiVersion}/${kind}`)) continue;
    const ref = { apiVersion, kind, namespace: own || namespace, name };
    if (ref.namespace !== namespace) {
      const rule = answer.kind === "known" ? ruleText(answer) : "";
      return {
        kind: "refused",
        message: `${kind} ${ref.namespace}/${name} is not in the template's namespace ${namespace}; ${rule} names it`,
        remedy: `Copy the object into ${namespace} and have the rule name that one; other namespaces are never read.`,
      };
    }
    refs.push(ref);
  }
  return { kind: "refs", refs };
}

function ruleText({ layer, source }: Extract<Answer<unknown>, { kind: "known" }>): string {
  if (layer === "customization") {
    return `spec.customizations.dependencyInterpretation of ResourceInterpreterCustomization ${source}`;
  }
  return source === undefined ? `the ${layer} interpreter` : `${layer} ${source} (InterpretDependency)`;
}
