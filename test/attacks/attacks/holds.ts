import { MERGE, SHOP } from "../ground.ts";
import { type Attack, HOLDS } from "./attack.ts";

const ONLY_CONTROLLER_HOLDS = "only Lockstep's controller may write a hold";

export const onHolds: readonly Attack[] = [
  {
    name: "an editor changes what the hold does",
    by: "editor",
    attempt: (ask, { hold }) => ask("PATCH", hold, { spec: { overrideRules: [] } }, MERGE),
    refused: ONLY_CONTROLLER_HOLDS,
    policy: "holds",
  },
  {
    name: "an editor takes the protection off the hold",
    by: "editor",
    attempt: (ask, { hold }) =>
      ask("PATCH", hold, { metadata: { labels: { "resourcetemplate.karmada.io/deletion-protected": null } } }, MERGE),
    refused: ONLY_CONTROLLER_HOLDS,
    policy: "holds",
  },
  {
    name: "an editor takes the hold's label off",
    by: "editor",
    attempt: (ask, { hold }) =>
      ask("PATCH", hold, { metadata: { labels: { "lockstep.karmada.io/hold": null } } }, MERGE),
    refused: ONLY_CONTROLLER_HOLDS,
    policy: "holds",
  },
  {
    name: "an editor deletes the hold",
    by: "editor",
    attempt: (ask, { hold }) => ask("DELETE", hold),
    refused: "denied",
  },
  {
    name: "an editor deletes all OverridePolicies of the namespace",
    by: "editor",
    attempt: (ask) => ask("DELETE", HOLDS),
    refused: "denied",
  },
  {
    name: "an editor creates a policy that looks like a hold",
    by: "editor",
    attempt: (ask) =>
      ask("POST", HOLDS, {
        apiVersion: "policy.karmada.io/v1alpha1",
        kind: "OverridePolicy",
        metadata: { name: "mine", namespace: SHOP, labels: { "lockstep.karmada.io/hold": "true" } },
        spec: { overrideRules: [] },
      }),
    refused: `${ONLY_CONTROLLER_HOLDS} (an OverridePolicy named lockstep-hold-... or labelled lockstep.karmada.io/hold): without it Karmada would change every cluster at once. To end the hold, delete the CrossClusterStatefulset`,
    policy: "holds",
  },
];
