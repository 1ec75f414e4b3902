/** How clusters serve kinds that the hub does not know: for previews, which ask no rights. */
import type { MemberKind } from "../../engine/index.ts";
import { UnknownKindError } from "../../kube/index.ts";
import { engineOf } from "../hub/engine.ts";
import type { Hub } from "../hub/hub.ts";
import { withMember } from "../hub/members.ts";

/** Kinds without a namespace, where no API server says so. */
const CLUSTER_SCOPED =
  /^(Namespace|CustomResourceDefinition|ClusterRole|ClusterRoleBinding|StorageClass|PriorityClass|PersistentVolume|IngressClass|RuntimeClass|APIService|.*WebhookConfiguration|ValidatingAdmissionPolicy.*)$/;

export function guessedKind(kind: string): MemberKind {
  return { plural: `${kind.toLowerCase()}s`, namespaced: !CLUSTER_SCOPED.test(kind) };
}

/** Undefined: this hub's engine delivers only kinds of the hub. */
export async function askMembers(
  hub: Hub,
): Promise<((cluster: string, apiVersion: string, kind: string) => Promise<MemberKind | undefined>) | undefined> {
  const engine = await engineOf(hub);
  if (engine.name !== "ocm") return undefined;
  return async (cluster, apiVersion, kind) => {
    try {
      return await withMember(hub, engine, cluster, ({ client }) =>
        client.discovery.resource(apiVersion, kind, hub.request),
      );
    } catch (error) {
      // The controller may reach what the caller may not.
      return error instanceof UnknownKindError ? undefined : guessedKind(kind);
    }
  };
}
