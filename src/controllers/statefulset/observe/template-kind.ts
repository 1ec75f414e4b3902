import { kindsOf, STATEFULSET_WORKLOAD, type Workload, workloadText } from "../../../api/index.ts";

/**
 * Why an object of this kind may not be a template; undefined: it may. A template of any kind would be copied into
 * revisions and to members, Secrets included. The admission policies say the same before it comes to that.
 */
export function refusedKind(
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  workloads: readonly Workload[],
  field: "resourceSelector" | "template" = "resourceSelector",
): string | undefined {
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  const allowed = [STATEFULSET_WORKLOAD, ...workloads];
  if (allowed.flatMap(kindsOf).includes(`${group}/${kind.toLowerCase()}`)) return undefined;
  return (
    `spec.${field}: ${kind} of ${apiVersion} may not be a template here. ` +
    `Allowed: StatefulSet${workloads.map((each) => `, ${workloadText(each)}`).join("")}. To allow another kind, an ` +
    "administrator of the hub runs 'lockstep install --workload PLURAL.GROUP --apply' and starts the controller with " +
    "the same --workload"
  );
}
