import type { EngineName } from "../../../src/api/index.ts";
import type { JsonObject } from "../../../src/runtime/index.ts";
import { type Answer, type Ask, MERGE, type Person, SHOP, SYSTEM } from "../ground.ts";
import { approval, clusters, configMap, crossCluster, crossClusterJob, memberAccess, statefulSet } from "../objects.ts";
import { PROMOTION } from "./approvals.ts";
import { APPROVALS, APPS, HOLDS, MEMBER, STATEFULSETS, type Targets, template } from "./attack.ts";

export interface Act {
  readonly name: string;
  readonly by: Person;
  readonly attempt: (ask: Ask, targets: Targets) => Promise<Answer>;
  /** Absent: on every hub. */
  readonly on?: EngineName;
}

/**
 * What must still work: a policy that refuses too much is as wrong as one that refuses too little. Each as a dry run.
 */
export const ACTS: readonly Act[] = [
  {
    name: "an editor creates a CrossClusterJob in the clusters of the namespace",
    by: "editor",
    attempt: (ask) => ask("POST", `${APPS}/${SHOP}/crossclusterjobs?dryRun=All`, crossClusterJob("mine")),
  },
  {
    name: "an operator suspends a job",
    by: "operator",
    attempt: (ask) =>
      ask("PATCH", `${APPS}/${SHOP}/crossclusterjobs/train?dryRun=All`, { spec: { suspend: true } }, MERGE),
  },
  {
    name: "an editor creates a CrossClusterStatefulset in the clusters of the namespace",
    by: "editor",
    attempt: (ask) => ask("POST", `${STATEFULSETS}?dryRun=All`, crossCluster("mine")),
  },
  {
    name: "an editor has a workload for a template that the installation names",
    by: "editor",
    attempt: (ask) => ask("POST", `${STATEFULSETS}?dryRun=All`, template("XlineCluster", "apps.my.io/v1alpha1")),
  },
  {
    name: "an editor drains a cluster that the namespace may not use",
    by: "editor",
    attempt: (ask) =>
      ask(
        "PATCH",
        `${STATEFULSETS}/web?dryRun=All`,
        { spec: { topology: clusters({ member1: 1, member2: 1, member3: 0 }) } },
        MERGE,
      ),
  },
  {
    name: "an editor edits the template",
    on: "karmada",
    by: "editor",
    attempt: (ask) =>
      ask("PATCH", `/apis/apps/v1/namespaces/${SHOP}/statefulsets/web?dryRun=All`, statefulSet("web", "web:2"), MERGE),
  },
  {
    name: "an editor writes an OverridePolicy of its own",
    on: "karmada",
    by: "editor",
    attempt: (ask) =>
      ask("POST", `${HOLDS}?dryRun=All`, {
        apiVersion: "policy.karmada.io/v1alpha1",
        kind: "OverridePolicy",
        metadata: { name: "mine", namespace: SHOP },
        spec: { overrideRules: [{ overriders: { labelsOverrider: [{ operator: "add", value: { a: "b" } }] } }] },
      }),
  },
  {
    name: "an operator promotes in its own name",
    by: "operator",
    attempt: (ask) =>
      ask("PATCH", `${STATEFULSETS}/web?dryRun=All`, { spec: { promote: { ...PROMOTION, by: "otto" } } }, MERGE),
  },
  {
    name: "an operator pauses the application",
    by: "operator",
    attempt: (ask) =>
      ask(
        "PATCH",
        `${STATEFULSETS}/web?dryRun=All`,
        { spec: { updateStrategy: { rollingUpdate: { paused: true } } } },
        MERGE,
      ),
  },
  {
    name: "a viewer reads the application and its approvals",
    by: "viewer",
    attempt: async (ask) => {
      const read = await ask("GET", `${STATEFULSETS}/web`);
      return read.status === 200 ? ask("GET", APPROVALS) : read;
    },
  },
  {
    name: "an approver approves in its own name",
    by: "approver",
    attempt: (ask) => ask("POST", `${APPROVALS}?dryRun=All`, approval("mine", { approvedBy: "anna" })),
  },
  {
    name: "an approver approves without saying a name",
    by: "approver",
    attempt: (ask) => ask("POST", `${APPROVALS}?dryRun=All`, approval("mine", {})),
  },
  {
    name: "a member's agent takes the finalizer off a Work",
    on: "karmada",
    by: "agent",
    attempt: async (ask, targets) => {
      const { body } = await ask("GET", targets.work);
      const metadata = body.metadata as JsonObject;
      return ask("PUT", `${targets.work}?dryRun=All`, { ...body, metadata: { ...metadata, finalizers: [] } });
    },
  },
  {
    name: "a member's agent reports a Work's status",
    on: "karmada",
    by: "agent",
    attempt: (ask, targets) => ask("PATCH", `${targets.work}/status?dryRun=All`, { status: { conditions: [] } }, MERGE),
  },
  {
    name: "a cluster's klusterlet reports a ManifestWork's status",
    on: "ocm",
    by: "klusterlet",
    attempt: (ask, targets) => ask("PATCH", `${targets.work}/status?dryRun=All`, { status: { conditions: [] } }, MERGE),
  },
  {
    name: "a cluster's klusterlet adds its finalizer to a ManifestWork",
    on: "ocm",
    by: "klusterlet",
    attempt: (ask, targets) =>
      ask("PATCH", `${targets.work}?dryRun=All`, { metadata: { finalizers: ["example.com/own"] } }, MERGE),
  },
  {
    name: "an editor writes a Secret labelled for member access in its own namespace, which gives access to nothing",
    on: "ocm",
    by: "editor",
    attempt: (ask) => ask("POST", `/api/v1/namespaces/${SHOP}/secrets?dryRun=All`, memberAccess("https://192.0.2.1")),
  },
  {
    name: "a person on call reads and deletes a member's pods",
    on: "karmada",
    by: "onCall",
    attempt: async (ask) => {
      const pods = await ask("GET", `${MEMBER}/namespaces/${SHOP}/pods`);
      if (pods.status !== 200) return pods;
      const gone = await ask("DELETE", `${MEMBER}/namespaces/${SHOP}/pods/is-not-there`);
      return gone.status === 404 ? pods : gone;
    },
  },
  {
    name: "an administrator who is no member of system:masters repairs a hold",
    on: "karmada",
    by: "administrator",
    attempt: (ask, { hold }) =>
      ask(
        "PATCH",
        `${hold}?dryRun=All`,
        { metadata: { labels: { "resourcetemplate.karmada.io/deletion-protected": null } } },
        MERGE,
      ),
  },
  {
    name: "an administrator writes in Lockstep's own namespace",
    by: "administrator",
    attempt: (ask) => ask("POST", `/api/v1/namespaces/${SYSTEM}/configmaps?dryRun=All`, configMap("x", SYSTEM)),
  },
];
