import { MERGE, SHOP, SYSTEM } from "../ground.ts";
import { secret } from "../objects.ts";
import { APPS, type Attack, REVISIONS } from "./attack.ts";

const ONLY_CONTROLLER_REVISIONS = "only Lockstep's controller may write a ControllerRevision";

export const onRevisions: readonly Attack[] = [
  {
    name: "an editor rewrites the readable copy of a revision",
    by: "editor",
    attempt: (ask, { revision }) => ask("PATCH", revision, { data: { content: {} } }, MERGE),
    refused: 'User "alice" cannot patch resource "controllerrevisions"',
  },
  {
    name: "a namespace's owner rewrites the readable copy of a revision",
    by: "owner",
    attempt: (ask, { revision }) => ask("PATCH", revision, { revision: 99 }, MERGE),
    refused: `${ONLY_CONTROLLER_REVISIONS} labelled lockstep.karmada.io/statefulset: it records what was rolled out. To return to an earlier revision, run 'lockstep undo'`,
    policy: "revisions",
  },
  {
    name: "a namespace's owner takes the label off a revision, to edit it afterwards",
    by: "owner",
    attempt: (ask, { revision }) =>
      ask("PATCH", revision, { metadata: { labels: { "lockstep.karmada.io/statefulset": null } } }, MERGE),
    refused: ONLY_CONTROLLER_REVISIONS,
    policy: "revisions",
  },
  {
    name: "a namespace's owner deletes a revision",
    by: "owner",
    attempt: (ask, { revision }) => ask("DELETE", revision),
    refused: ONLY_CONTROLLER_REVISIONS,
    policy: "revisions",
  },
  {
    name: "a namespace's owner adds a revision of its own",
    by: "owner",
    attempt: (ask) =>
      ask("POST", REVISIONS, {
        apiVersion: "apps/v1",
        kind: "ControllerRevision",
        metadata: { name: "forged", namespace: SHOP, labels: { "lockstep.karmada.io/statefulset": "web" } },
        revision: 7,
        data: {},
      }),
    refused: ONLY_CONTROLLER_REVISIONS,
    policy: "revisions",
  },
  {
    name: "an editor reads the revisions in Lockstep's own namespace",
    by: "editor",
    attempt: (ask) => ask("GET", `/api/v1/namespaces/${SYSTEM}/secrets`),
    refused: `User "alice" cannot list resource "secrets" in API group "" in the namespace "${SYSTEM}"`,
  },
  {
    name: "a namespace's owner reads the ledgers in Lockstep's own namespace",
    by: "owner",
    attempt: (ask) => ask("GET", `${APPS}/${SYSTEM}/crossclusterledgers`),
    refused: `User "olga" cannot list resource "crossclusterledgers" in API group "apps.karmada.io" in the namespace "${SYSTEM}"`,
  },
  {
    name: "an editor lists ledgers over all namespaces",
    by: "editor",
    attempt: (ask) => ask("GET", "/apis/apps.karmada.io/v1alpha1/crossclusterledgers"),
    refused: 'cannot list resource "crossclusterledgers" in API group "apps.karmada.io" at the cluster scope',
  },
  {
    name: "a program that may write Secrets everywhere plants a revision in Lockstep's own namespace",
    by: "helper",
    attempt: (ask) => ask("POST", `/api/v1/namespaces/${SYSTEM}/secrets`, secret("revision-forged", SYSTEM)),
    refused: `namespace ${SYSTEM} is Lockstep's own: only its controller and administrators of the hub may write there`,
    policy: "system-namespace",
  },
];
