import { MERGE, SHOP, SYSTEM } from "../ground.ts";
import { type Attack, MEMBER, STATEFULSETS } from "./attack.ts";

export const onIdentities: readonly Attack[] = [
  {
    name: "an editor reaches a member through the hub's proxy",
    on: "karmada",
    by: "editor",
    attempt: (ask) => ask("GET", `${MEMBER}/namespaces/kube-system/secrets`),
    refused: 'User "alice" cannot get resource "clusters/proxy"',
  },
  {
    name: "a person on call reads a member's Secrets",
    on: "karmada",
    by: "onCall",
    attempt: (ask) => ask("GET", `${MEMBER}/namespaces/${SHOP}/secrets`),
    refused: 'User "carl" cannot list resource "secrets" in API group "" in the namespace "shop"',
  },
  {
    name: "a person on call deletes a member's volume",
    on: "karmada",
    by: "onCall",
    attempt: (ask) => ask("DELETE", `${MEMBER}/namespaces/${SHOP}/persistentvolumeclaims/data-web-0`),
    refused: 'User "carl" cannot delete resource "persistentvolumeclaims"',
  },
  {
    name: "a person on call changes the application",
    by: "onCall",
    attempt: (ask) => ask("PATCH", `${STATEFULSETS}/web`, { spec: { replicas: 9 } }, MERGE),
    refused: 'User "carl" cannot patch resource "crossclusterstatefulsets"',
  },
  {
    name: "a namespace's owner acts as the controller",
    by: "owner",
    attempt: (ask) =>
      ask("DELETE", `/api/v1/namespaces/${SYSTEM}/secrets/x`, undefined, {
        headers: { "impersonate-user": `system:serviceaccount:${SYSTEM}:lockstep-controller` },
      }),
    refused: 'User "olga" cannot impersonate',
    realOnly: true,
  },
  {
    name: "a namespace's owner asks for a token of the controller's account",
    by: "owner",
    attempt: (ask) =>
      ask("POST", `/api/v1/namespaces/${SYSTEM}/serviceaccounts/lockstep-controller/token`, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {},
      }),
    refused: 'User "olga" cannot create resource "serviceaccounts/token"',
    realOnly: true,
  },
];
