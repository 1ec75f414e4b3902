import type { JsonObject } from "../../../src/runtime/index.ts";
import { MERGE, SHOP } from "../ground.ts";
import { CLUSTER_ADMIN_FOR_ALL, configMap, work } from "../objects.ts";
import { type Attack, WORKS } from "./attack.ts";

const ONLY_CONTROLLER_WORKS = "only Lockstep's controller may write a Work labelled lockstep.karmada.io/app";
const WORK_CONTENTS = "a Work of Lockstep may hold only the template's kinds";

/** As the controller marks what a DistributedApplication distributes. */
function markedWork(namespace: string): JsonObject {
  const forged = work(namespace, CLUSTER_ADMIN_FOR_ALL);
  const annotations = { "lockstep.karmada.io/app-kind": "DistributedApplication" };
  return { ...forged, metadata: { ...(forged.metadata as JsonObject), annotations } };
}

export const onWorks: readonly Attack[] = [
  {
    name: "an editor writes a Work for a member",
    by: "editor",
    attempt: (ask) => ask("POST", WORKS("karmada-es-member1"), work("karmada-es-member1", configMap("x", SHOP))),
    refused:
      'User "alice" cannot create resource "works" in API group "work.karmada.io" in the namespace "karmada-es-member1"',
  },
  {
    name: "an editor writes a Work with Lockstep's labels in its own namespace",
    by: "editor",
    attempt: (ask) => ask("POST", WORKS(SHOP), work(SHOP, configMap("x", SHOP))),
    refused: ONLY_CONTROLLER_WORKS,
    policy: "works",
  },
  {
    name: "a member's agent writes a Work with Lockstep's labels",
    by: "agent",
    attempt: (ask) => ask("POST", WORKS("karmada-es-member1"), work("karmada-es-member1", configMap("x", SHOP))),
    refused: `${ONLY_CONTROLLER_WORKS}: it says what a member cluster was granted. Change the template or the CrossClusterStatefulset instead`,
    policy: "works",
  },
  {
    name: "an editor marks a Work as a DistributedApplication's, to hold any kind",
    by: "editor",
    attempt: (ask) => ask("POST", WORKS(SHOP), markedWork(SHOP)),
    refused: ONLY_CONTROLLER_WORKS,
    policy: "works",
  },
  {
    name: "a member's agent marks a Work as a DistributedApplication's, to hold any kind",
    by: "agent",
    attempt: (ask) => ask("POST", WORKS("karmada-es-member1"), markedWork("karmada-es-member1")),
    refused: ONLY_CONTROLLER_WORKS,
    policy: "works",
  },
  {
    name: "a member's agent changes what its cluster was granted",
    by: "agent",
    attempt: async (ask, targets) => {
      const { body } = await ask("GET", targets.work);
      return ask("PUT", targets.work, { ...body, spec: { workload: { manifests: [configMap("x", SHOP)] } } });
    },
    refused: ONLY_CONTROLLER_WORKS,
    policy: "works",
  },
  {
    name: "a member's agent takes Lockstep's label off a Work",
    by: "agent",
    attempt: async (ask, targets) => {
      const { body } = await ask("GET", targets.work);
      return ask("PUT", targets.work, { ...body, metadata: { ...(body.metadata as JsonObject), labels: {} } });
    },
    refused: ONLY_CONTROLLER_WORKS,
    policy: "works",
  },
  {
    name: "a member's agent deletes a Work of Lockstep",
    by: "agent",
    attempt: (ask, targets) => ask("DELETE", targets.work),
    refused: "denied",
  },
  {
    name: "the controller itself, taken over, gives a member a ClusterRoleBinding",
    by: "controller",
    attempt: (ask) => ask("POST", WORKS("karmada-es-member1"), work("karmada-es-member1", CLUSTER_ADMIN_FOR_ALL)),
    refused: `${WORK_CONTENTS}, ConfigMaps, Secrets, ServiceAccounts, Services and ServiceExports, in the application's own namespace`,
    policy: "work-contents",
  },
  {
    name: "the controller itself, taken over, writes into another namespace of a member",
    by: "controller",
    attempt: (ask) =>
      ask("POST", WORKS("karmada-es-member1"), work("karmada-es-member1", configMap("x", "kube-system"))),
    refused: WORK_CONTENTS,
    policy: "work-contents",
  },
  {
    name: "the controller itself, taken over, leaves its label away",
    by: "controller",
    attempt: (ask) => ask("POST", WORKS("karmada-es-member1"), work("karmada-es-member1", CLUSTER_ADMIN_FOR_ALL, {})),
    refused: "Lockstep's controller may write only its own Works",
    policy: "work-contents",
  },
  {
    name: "the controller itself, taken over, changes a tenant's Secret",
    by: "controller",
    attempt: (ask) => ask("PATCH", `/api/v1/namespaces/${SHOP}/secrets/web`, { data: {} }, MERGE),
    refused: 'cannot patch resource "secrets"',
  },
  {
    name: "the controller itself, taken over, lifts a policy",
    by: "controller",
    attempt: (ask) =>
      ask(
        "DELETE",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/work-contents.lockstep.karmada.io",
      ),
    refused: 'cannot delete resource "validatingadmissionpolicybindings"',
  },
];
