import { MERGE, SHOP, VAULT } from "../ground.ts";
import { clusters, crossCluster, secret, statefulSet } from "../objects.ts";
import { APPS, type Attack, inline, STATEFULSETS, template } from "./attack.ts";

export const onSpecs: readonly Attack[] = [
  {
    name: "an editor has a Secret for a template",
    by: "editor",
    attempt: (ask) => ask("POST", STATEFULSETS, template("Secret", "v1")),
    refused:
      "spec.resourceSelector: Secret of v1 may not be a template here. Allowed: StatefulSet, xlineclusters.apps.my.io",
    policy: "template-kinds",
  },
  {
    name: "an editor has another kind for a template",
    by: "editor",
    attempt: (ask) => ask("POST", STATEFULSETS, template("Role", "rbac.authorization.k8s.io/v1")),
    refused: "Role of rbac.authorization.k8s.io/v1 may not be a template here",
    policy: "template-kinds",
  },
  {
    name: "an editor selects an object of another namespace",
    by: "editor",
    attempt: (ask) => {
      const resourceSelector = { apiVersion: "apps/v1", kind: "StatefulSet", name: "attack", namespace: VAULT };
      return ask("POST", STATEFULSETS, crossCluster("attack", { resourceSelector }));
    },
    refused: "spec.resourceSelector.namespace must be the CrossClusterStatefulset's own namespace",
    policy: "template-namespace",
  },
  {
    name: "an editor carries a Secret inline",
    by: "editor",
    attempt: (ask) => ask("POST", STATEFULSETS, crossCluster("attack", inline(secret("attack")))),
    refused: "spec.template: Secret of v1 may not be a template here. Allowed: StatefulSet, xlineclusters.apps.my.io",
    policy: "template-kinds",
  },
  {
    name: "an editor carries an object of another namespace inline",
    by: "editor",
    attempt: (ask) => ask("POST", STATEFULSETS, crossCluster("attack", inline(statefulSet("attack", "web:1", VAULT)))),
    refused: "spec.template.metadata.namespace must be the CrossClusterStatefulset's own namespace",
    policy: "template-namespace",
  },
  {
    name: "an operator, who may not create StatefulSets, writes one inline",
    by: "operator",
    attempt: (ask) => ask("PATCH", `${STATEFULSETS}/web`, { spec: inline(statefulSet("web", "evil:1")) }, MERGE),
    refused: `spec.template: otto may not create statefulsets in namespace ${SHOP}, and so may not write one inline`,
    policy: "template-author",
  },
  {
    name: "an editor writes a kind inline that the role edit does not cover",
    by: "editor",
    attempt: (ask) => {
      const xline = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", metadata: { name: "attack" }, spec: {} };
      return ask("POST", STATEFULSETS, crossCluster("attack", inline(xline)));
    },
    refused: `alice may not create xlineclusters in namespace ${SHOP}`,
    policy: "template-author",
  },
  {
    name: "an editor turns a running application into another object",
    by: "editor",
    attempt: (ask) => ask("PATCH", `${STATEFULSETS}/web`, { spec: inline(statefulSet("vault", "web:1")) }, MERGE),
    refused: "kind and name are immutable, also between template and resourceSelector.name",
  },
  {
    name: "an editor names a cluster that the namespace may not use",
    by: "editor",
    attempt: (ask) =>
      ask("POST", STATEFULSETS, crossCluster("attack", { topology: clusters({ member1: 1, member3: 1 }) })),
    refused: `spec.topology: namespace ${SHOP} may not use member3; allowed: member1, member2. An administrator of the hub sets the annotation lockstep.karmada.io/allowed-clusters on the namespace`,
    policy: "allowed-clusters",
  },
  {
    name: "an editor adds a cluster that the namespace may not use to a running application",
    by: "editor",
    attempt: (ask) =>
      ask(
        "PATCH",
        `${STATEFULSETS}/web`,
        { spec: { topology: clusters({ member1: 1, member2: 1, member3: 1 }) } },
        MERGE,
      ),
    refused: `namespace ${SHOP} may not use member3`,
    policy: "allowed-clusters",
  },
  {
    name: "a namespace's owner gives the namespace another cluster",
    by: "owner",
    attempt: (ask) =>
      ask(
        "PATCH",
        `/api/v1/namespaces/${SHOP}`,
        { metadata: { annotations: { "lockstep.karmada.io/allowed-clusters": "*" } } },
        MERGE,
      ),
    refused:
      "only administrators of the hub may set the annotation lockstep.karmada.io/allowed-clusters on a namespace",
    policy: "allowed-clusters-setting",
  },
  {
    name: "a namespace's owner takes the setting of its clusters away",
    by: "owner",
    attempt: (ask) =>
      ask(
        "PATCH",
        `/api/v1/namespaces/${SHOP}`,
        { metadata: { annotations: { "lockstep.karmada.io/allowed-clusters": null } } },
        MERGE,
      ),
    refused: "only administrators of the hub may set the annotation",
    policy: "allowed-clusters-setting",
  },
  {
    name: "an editor creates a CrossClusterStatefulset in another namespace",
    by: "editor",
    attempt: (ask) => ask("POST", `${APPS}/${VAULT}/crossclusterstatefulsets`, crossCluster("attack", {}, VAULT)),
    refused: `in the namespace "${VAULT}"`,
  },
  {
    name: "an editor writes a status by hand",
    by: "editor",
    attempt: (ask) => ask("PATCH", `${STATEFULSETS}/web/status`, { status: { phase: "Settled" } }, MERGE),
    refused: 'User "alice" cannot patch resource "crossclusterstatefulsets/status"',
  },
];
