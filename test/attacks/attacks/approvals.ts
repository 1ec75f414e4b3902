import { MERGE } from "../ground.ts";
import { approval } from "../objects.ts";
import { APPROVALS, type Attack, STATEFULSETS } from "./attack.ts";

const AT = "2026-01-01T00:00:00Z";
export const PROMOTION = { revision: "web-1", window: true, at: AT };
const TRANSFER = { to: "member1", at: AT };

export const onApprovals: readonly Attack[] = [
  {
    name: "an editor approves a rollout without the right to",
    by: "editor",
    attempt: (ask) => ask("POST", APPROVALS, approval("attack", {})),
    refused:
      'User "alice" cannot create resource "rolloutapprovals" in API group "apps.karmada.io" in the namespace "shop"',
  },
  {
    name: "an operator approves a rollout without the right to",
    by: "operator",
    attempt: (ask) => ask("POST", APPROVALS, approval("attack", {})),
    refused: 'User "otto" cannot create resource "rolloutapprovals"',
  },
  {
    name: "an approver approves in the name of another person",
    by: "approver",
    attempt: (ask) => ask("POST", APPROVALS, approval("attack", { approvedBy: "boss" })),
    refused:
      "spec.approvedBy is boss, but this request comes from anna: leave it out, or use 'lockstep approve', which fills it in",
    policy: "approver",
  },
  {
    name: "an owner signs another person's approval",
    by: "owner",
    attempt: (ask) => ask("PATCH", `${APPROVALS}/by-anna`, { spec: { approvedBy: "olga" } }, MERGE),
    refused: "immutable",
  },
  {
    name: "an operator promotes in the name of another person",
    by: "operator",
    attempt: (ask) => ask("PATCH", `${STATEFULSETS}/web`, { spec: { promote: { ...PROMOTION, by: "boss" } } }, MERGE),
    refused:
      "spec.promote.by is boss, but this request comes from otto: leave it out, or use 'lockstep promote', which fills it in",
    policy: "requester",
  },
  {
    name: "an operator moves the leader in the name of another person",
    by: "operator",
    attempt: (ask) =>
      ask("PATCH", `${STATEFULSETS}/web`, { spec: { transferLeader: { ...TRANSFER, by: "boss" } } }, MERGE),
    refused: "spec.transferLeader.by is boss, but this request comes from otto",
    policy: "requester",
  },
  {
    name: "an approver edits the application",
    by: "approver",
    attempt: (ask) => ask("PATCH", `${STATEFULSETS}/web`, { spec: { replicas: 9 } }, MERGE),
    refused: 'User "anna" cannot patch resource "crossclusterstatefulsets"',
  },
  {
    name: "a viewer changes anything",
    by: "viewer",
    attempt: (ask) => ask("PATCH", `${STATEFULSETS}/web`, { spec: { replicas: 9 } }, MERGE),
    refused: 'User "vera" cannot patch resource "crossclusterstatefulsets"',
  },
  {
    name: "an operator deletes the application",
    by: "operator",
    attempt: (ask) => ask("DELETE", `${STATEFULSETS}/web`),
    refused: 'User "otto" cannot delete resource "crossclusterstatefulsets"',
  },
];
