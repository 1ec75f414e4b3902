/** What only a hub of Open Cluster Management has: ManifestWorks, its clusters' agents and access to them. */
import type { JsonObject } from "../../../src/runtime/index.ts";
import { MERGE, SHOP } from "../ground.ts";
import { CLUSTER_ADMIN_FOR_ALL, configMap, crossCluster, manifestWork, memberAccess, statefulSet } from "../objects.ts";
import { type Attack, inline, MANIFEST_WORKS, STATEFULSETS } from "./attack.ts";

const ONLY_CONTROLLER = "only Lockstep's controller may write a ManifestWork labelled lockstep.karmada.io/app";
const CONTENTS = "a ManifestWork of Lockstep may hold only the template's kinds";
const CLUSTERS = "/apis/cluster.open-cluster-management.io";

/** A pod that the agent would create: without the setting by which it is only observed. */
const POD: JsonObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "x", namespace: SHOP },
  spec: { containers: [{ name: "x", image: "evil:1" }] },
};

export const onManifestWorks: readonly Attack[] = [
  {
    name: "an editor writes a ManifestWork for a cluster",
    by: "editor",
    attempt: (ask) => ask("POST", MANIFEST_WORKS("member1"), manifestWork("member1", configMap("x", SHOP), {})),
    refused: 'User "alice" cannot create resource "manifestworks"',
  },
  {
    name: "a namespace's owner writes a ManifestWork with Lockstep's label in its own namespace",
    by: "owner",
    attempt: (ask) => ask("POST", MANIFEST_WORKS(SHOP), manifestWork(SHOP, configMap("x", SHOP))),
    refused: `${ONLY_CONTROLLER}: it says what a member cluster was granted. Change the template or the CrossClusterStatefulset instead`,
    policy: "works",
  },
  {
    name: "a cluster's klusterlet writes a ManifestWork",
    by: "klusterlet",
    attempt: (ask) => ask("POST", MANIFEST_WORKS("member1"), manifestWork("member1", configMap("x", SHOP))),
    refused: 'cannot create resource "manifestworks"',
  },
  {
    name: "a cluster's klusterlet changes what its cluster was granted",
    by: "klusterlet",
    attempt: (ask, { work }) =>
      ask("PATCH", work, { spec: { workload: { manifests: [statefulSet("web", "evil:1")] } } }, MERGE),
    refused: ONLY_CONTROLLER,
    policy: "works",
  },
  {
    name: "a cluster's klusterlet changes Lockstep's notes on a ManifestWork",
    by: "klusterlet",
    attempt: (ask, { work }) =>
      ask("PATCH", work, { metadata: { annotations: { "lockstep.karmada.io/version": "999" } } }, MERGE),
    refused: ONLY_CONTROLLER,
    policy: "works",
  },
  {
    name: "a cluster's klusterlet takes Lockstep's label off a ManifestWork",
    by: "klusterlet",
    attempt: (ask, { work }) =>
      ask("PATCH", work, { metadata: { labels: { "lockstep.karmada.io/app": null } } }, MERGE),
    refused: ONLY_CONTROLLER,
    policy: "works",
  },
  {
    name: "a cluster's klusterlet makes a ManifestWork delete what it delivered",
    by: "klusterlet",
    attempt: (ask, { work }) =>
      ask("PATCH", work, { spec: { deleteOption: { propagationPolicy: "Foreground" } } }, MERGE),
    refused: ONLY_CONTROLLER,
    policy: "works",
  },
  {
    name: "a cluster's klusterlet deletes a ManifestWork of Lockstep",
    by: "klusterlet",
    attempt: (ask, { work }) => ask("DELETE", work),
    refused: 'cannot delete resource "manifestworks"',
  },
  {
    name: "a cluster's klusterlet reads what another cluster was granted",
    by: "klusterlet",
    attempt: (ask) => ask("GET", MANIFEST_WORKS("member2")),
    refused: 'cannot list resource "manifestworks"',
  },
  {
    name: "a cluster's klusterlet reports in the name of another cluster",
    by: "klusterlet",
    attempt: (ask, { work }) =>
      ask("PATCH", `${work.replace("/member1/", "/member2/")}/status`, { status: { conditions: [] } }, MERGE),
    refused: 'cannot patch resource "manifestworks/status"',
  },
  {
    name: "a cluster's klusterlet gives Lockstep access to a server of its choice",
    by: "klusterlet",
    attempt: (ask) => ask("POST", "/api/v1/namespaces/member1/secrets", memberAccess("https://192.0.2.1", "member1")),
    refused: 'cannot create resource "secrets"',
  },
  {
    name: "an editor gives Lockstep access to a server of its choice in a cluster's name",
    by: "editor",
    attempt: (ask) => ask("POST", "/api/v1/namespaces/member1/secrets", memberAccess("https://192.0.2.1", "member1")),
    refused: 'User "alice" cannot create resource "secrets" in API group "" in the namespace "member1"',
  },
  {
    name: "an editor registers a cluster",
    by: "editor",
    attempt: (ask) =>
      ask("POST", `${CLUSTERS}/v1/managedclusters`, {
        apiVersion: "cluster.open-cluster-management.io/v1",
        kind: "ManagedCluster",
        metadata: { name: SHOP },
        spec: { hubAcceptsClient: true },
      }),
    refused: 'User "alice" cannot create resource "managedclusters"',
  },
  {
    name: "an editor writes the decision of a Placement",
    by: "editor",
    attempt: (ask) =>
      ask("POST", `${CLUSTERS}/v1beta1/namespaces/${SHOP}/placementdecisions`, {
        apiVersion: "cluster.open-cluster-management.io/v1beta1",
        kind: "PlacementDecision",
        metadata: { name: "forged", namespace: SHOP },
      }),
    refused: 'User "alice" cannot create resource "placementdecisions"',
  },
  {
    name: "an editor refers to a Placement of another namespace by its name",
    by: "editor",
    attempt: (ask) => {
      const topology = { placementRef: { name: "vault/zones" } };
      const spec = { ...inline(statefulSet("attack", "web:1")), replicas: 2, topology };
      return ask("POST", STATEFULSETS, crossCluster("attack", spec));
    },
    refused: "spec.topology.placementRef.name",
  },
  {
    name: "the controller itself, taken over, gives a cluster a ClusterRoleBinding",
    by: "controller",
    attempt: (ask) => ask("POST", MANIFEST_WORKS("member1"), manifestWork("member1", CLUSTER_ADMIN_FOR_ALL)),
    refused: `${CONTENTS}, ConfigMaps, Secrets, ServiceAccounts, Services and ServiceExports, in the application's own namespace`,
    policy: "work-contents",
  },
  {
    name: "the controller itself, taken over, writes into another namespace of a cluster",
    by: "controller",
    attempt: (ask) => ask("POST", MANIFEST_WORKS("member1"), manifestWork("member1", configMap("x", "kube-system"))),
    refused: CONTENTS,
    policy: "work-contents",
  },
  {
    name: "the controller itself, taken over, leaves its label away",
    by: "controller",
    attempt: (ask) => ask("POST", MANIFEST_WORKS("member1"), manifestWork("member1", CLUSTER_ADMIN_FOR_ALL, {})),
    refused: "Lockstep's controller may write only its own ManifestWorks",
    policy: "work-contents",
  },
  {
    name: "the controller itself, taken over, creates a pod instead of observing one",
    by: "controller",
    attempt: (ask) => ask("POST", MANIFEST_WORKS("member1"), manifestWork("member1", POD)),
    refused: CONTENTS,
    policy: "work-contents",
  },
  {
    name: "the controller itself, taken over, changes a tenant's Secret",
    by: "controller",
    attempt: (ask) => ask("PATCH", `/api/v1/namespaces/${SHOP}/secrets/web`, { data: {} }, MERGE),
    refused: 'cannot patch resource "secrets"',
  },
  {
    name: "the controller itself, taken over, accepts a cluster",
    by: "controller",
    attempt: (ask) =>
      ask("PATCH", `${CLUSTERS}/v1/managedclusters/member1`, { spec: { hubAcceptsClient: true } }, MERGE),
    refused: 'cannot patch resource "managedclusters"',
  },
];
