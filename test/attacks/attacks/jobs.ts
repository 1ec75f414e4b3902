import { MERGE, SHOP, SYSTEM, VAULT } from "../ground.ts";
import { crossClusterJob, ledger } from "../objects.ts";
import { APPS, type Attack } from "./attack.ts";

const JOBS = `${APPS}/${SHOP}/crossclusterjobs`;
const EXCLUSIVE = { failover: { onClusterLoss: { guarantee: "Exclusive" } } };
/** The editor created it. */
const TRAIN = `${JOBS}/train`;
const FORGED = {
  status: {
    phase: "Complete",
    conditions: [
      { type: "Complete", status: "True", reason: "Forged", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ],
  },
};

export const onJobs: readonly Attack[] = [
  {
    name: "an editor has a Secret run as a job",
    by: "editor",
    attempt: (ask) => ask("POST", JOBS, crossClusterJob("attack", { apiVersion: "v1", kind: "Secret", spec: null })),
    refused: "spec.template: Secret of v1 may not be a template here. Allowed: Job, xlineclusters.apps.my.io",
    policy: "job-kinds",
  },
  {
    name: "an editor has a kind run as a job that the installation does not name",
    by: "editor",
    attempt: (ask) => ask("POST", JOBS, crossClusterJob("attack", { kind: "CronJob" })),
    refused: "spec.template: CronJob of batch/v1 may not be a template here",
    policy: "job-kinds",
  },
  {
    name: "an editor has a job run in another namespace",
    by: "editor",
    attempt: (ask) => ask("POST", JOBS, crossClusterJob("attack", { metadata: { namespace: VAULT } })),
    refused: "spec.template.metadata.namespace must be the CrossClusterJob's own namespace",
    policy: "job-template",
  },
  {
    name: "an editor creates a CrossClusterJob in another namespace",
    by: "editor",
    attempt: (ask) => ask("POST", `${APPS}/${VAULT}/crossclusterjobs`, crossClusterJob("attack")),
    refused: `in the namespace "${VAULT}"`,
  },
  {
    name: "an editor has a job of a kind that the role edit does not cover",
    by: "editor",
    attempt: (ask) =>
      ask("POST", JOBS, crossClusterJob("attack", { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster" })),
    refused: `spec.template: alice may not create xlineclusters in namespace ${SHOP}`,
    policy: "job-author",
  },
  {
    name: "an operator, who may not create jobs, creates one",
    by: "operator",
    attempt: (ask) => ask("POST", JOBS, crossClusterJob("attack")),
    refused: 'User "otto" cannot create resource "crossclusterjobs"',
  },
  {
    name: "an editor turns a running job into another",
    by: "editor",
    attempt: (ask) =>
      ask("PATCH", TRAIN, { spec: { template: { spec: { template: { spec: { hostNetwork: true } } } } } }, MERGE),
    refused: "spec.template is immutable: create another CrossClusterJob for other work",
    policy: "job-template",
  },
  {
    name: "an editor gives a job to a cluster that the namespace may not use",
    by: "editor",
    attempt: (ask) => ask("POST", JOBS, crossClusterJob("attack", {}, { clusters: { names: ["member1", "member3"] } })),
    refused: `spec.clusters.names: namespace ${SHOP} may not use member3`,
    policy: "job-clusters",
  },
  {
    name: "an editor moves a running job to a cluster that the namespace may not use",
    by: "editor",
    attempt: (ask) => ask("PATCH", TRAIN, { spec: { clusters: { names: ["member3"] } } }, MERGE),
    refused: `spec.clusters.names: namespace ${SHOP} may not use member3`,
    policy: "job-clusters",
  },
  {
    name: "an editor has exclusive work managed by another controller",
    by: "editor",
    attempt: (ask) => ask("POST", JOBS, crossClusterJob("attack", { spec: { managedBy: "example.com/x" } }, EXCLUSIVE)),
    refused: "guarantee Exclusive does not go with managedBy",
    policy: "job-template",
  },
  {
    name: "an editor takes the guarantee Exclusive later",
    by: "editor",
    attempt: (ask) => ask("PATCH", TRAIN, { spec: EXCLUSIVE }, MERGE),
    refused: "Exclusive cannot be set or taken back later",
  },
  {
    name: "an editor says by hand that a job is complete",
    by: "editor",
    attempt: (ask) => ask("PATCH", `${TRAIN}/status`, FORGED, MERGE),
    refused: 'User "alice" cannot patch resource "crossclusterjobs/status"',
  },
  {
    name: "a namespace's owner says by hand that a job is complete",
    by: "owner",
    attempt: (ask) => ask("PATCH", `${TRAIN}/status`, FORGED, MERGE),
    refused: "only Lockstep's controller may write the status of a CrossClusterJob",
    policy: "job-status",
  },
  {
    name: "a viewer has failed work tried again",
    by: "viewer",
    attempt: (ask) => ask("PATCH", TRAIN, { spec: { retry: "1" } }, MERGE),
    refused: 'User "vera" cannot patch resource "crossclusterjobs"',
  },
  {
    name: "an approver confirms that a job's cluster is lost",
    by: "approver",
    attempt: (ask) => {
      const confirmedLost = [{ name: "member1", at: "2026-01-01T00:00:00Z" }];
      return ask("PATCH", TRAIN, { spec: { failover: { onClusterLoss: { confirmedLost } } } }, MERGE);
    },
    refused: 'User "anna" cannot patch resource "crossclusterjobs"',
  },
  {
    name: "a program that may write ledgers everywhere writes one for a job",
    by: "helper",
    attempt: (ask) => {
      const owner = { kind: "CrossClusterJob", namespace: SHOP, name: "train", uid: "x" };
      const forged = { ...ledger(SYSTEM), spec: { version: 1, state: {}, owner, revisions: [] } };
      return ask("POST", `${APPS}/${SYSTEM}/crossclusterledgers`, forged);
    },
    refused: "only Lockstep's controller may write a CrossClusterLedger",
    policy: "ledgers",
  },
];
