import type { JsonObject } from "../../runtime/index.ts";
import { approver } from "./approver.ts";
import { allowedClusters, allowedClustersSetting } from "./clusters.ts";
import { clustersInUse } from "./clusters-in-use.ts";
import { workContents } from "./contents.ts";
import { holds, ledgers, revisions, systemNamespace, works } from "./guards.ts";
import { jobAuthor, jobClusters, jobKinds, jobStatus, jobTemplate } from "./jobs.ts";
import { manifests, type Policy, type PolicySettings } from "./policy.ts";
import { requester } from "./requester.ts";
import { ownNamespace, templateAuthor, templateKinds } from "./selector.ts";

/**
 * What the API server refuses: rules that a CRD cannot express, because they depend on the user, the namespace or other
 * kinds.
 */
export function admissionPolicies(settings: PolicySettings): JsonObject[] {
  const policies: Policy[] = [
    ownNamespace(),
    templateKinds(settings),
    templateAuthor(settings),
    jobTemplate(),
    jobKinds(settings),
    jobAuthor(settings),
    jobClusters(settings),
    jobStatus(settings),
    allowedClusters(settings),
    allowedClustersSetting(settings),
    approver(),
    requester(),
    ...(settings.engine === "ocm" ? [clustersInUse(settings)] : [holds(settings)]),
    works(settings),
    workContents(settings),
    ledgers(settings),
    revisions(settings),
    systemNamespace(settings),
  ];
  return policies.flatMap((policy) => manifests(policy, settings));
}
