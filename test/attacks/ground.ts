/** The ground on which attacks are tried: an installed hub, two namespaces, and people with few rights. */
import type { EngineName } from "../../src/api/index.ts";
import type { User } from "../../src/apiserver/index.ts";
import { account, person, roleBinding } from "../../src/apiserver/testing/roles.ts";
import { installManifests } from "../../src/cli/commands/install/manifests.ts";
import type { HttpRequest, JsonObject, Transport } from "../../src/runtime/index.ts";

export const SHOP = "shop";
export const VAULT = "vault";
export const SYSTEM = "lockstep-system";

/** Those who try. The last two are on Lockstep's side. */
export const PEOPLE = {
  /** Has Kubernetes' role `edit` in shop, by a RoleBinding. */
  editor: person("alice"),
  /** May do everything in shop, by a Role of its own. */
  owner: person("olga"),
  approver: person("anna"),
  operator: person("otto"),
  viewer: person("vera"),
  /** Karmada's agent in a pull-mode member, with the rights that `karmadactl register` gives it. */
  agent: person("system:karmada:agent:member1", "system:karmada:agents"),
  /** The agent of Open Cluster Management in member1, with the rights that its hub gives it. */
  klusterlet: person(
    "system:open-cluster-management:member1:member1-agent",
    "system:open-cluster-management:member1",
    "system:open-cluster-management:managed-clusters",
  ),
  /** Has the shipped role for on-call, on the hub and so in the members. */
  onCall: person("carl"),
  /** A program that may write Secrets, ConfigMaps and ledgers in every namespace. */
  helper: person("secret-syncer"),
  controller: account(SYSTEM, "lockstep-controller"),
  /** cluster-admin, but no member of system:masters. */
  administrator: person("ada"),
} as const satisfies Record<string, User>;

export type Person = keyof typeof PEOPLE;

export interface Answer {
  readonly status: number;
  /** The message of a Status; empty for an object. */
  readonly message: string;
  readonly body: JsonObject;
}

export interface AskOptions {
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Ask = (
  method: HttpRequest["method"],
  path: string,
  body?: JsonObject | JsonObject[],
  options?: AskOptions,
) => Promise<Answer>;

export function askThrough(transport: Transport): Ask {
  return async (method, path, body, { type = "application/json", headers = {} } = {}) => {
    const answer = await transport.request({
      method,
      path,
      headers: { "content-type": type, accept: "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const parsed: JsonObject = JSON.parse(answer.body);
    const message = parsed.kind === "Status" && typeof parsed.message === "string" ? parsed.message : "";
    return { status: answer.status, message, body: parsed };
  };
}

export const MERGE = { type: "application/merge-patch+json" };

/** What `lockstep install` writes for this ground. */
export function installed(): JsonObject[] {
  return installManifests({
    systemNamespace: SYSTEM,
    workloads: [{ plural: "xlineclusters", group: "apps.my.io" }],
    standingHold: true,
  });
}

/** Namespaces and rights, in the order in which they can be created. */
export function surroundings(engine: EngineName = "karmada"): JsonObject[] {
  const everything = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  const agentRules = [
    {
      apiGroups: ["work.karmada.io"],
      resources: ["works"],
      verbs: ["get", "create", "list", "watch", "update", "delete"],
    },
    { apiGroups: ["work.karmada.io"], resources: ["works/status"], verbs: ["patch", "update"] },
  ];
  const helperRules = [
    { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["create", "update", "patch", "delete"] },
    { apiGroups: ["apps.karmada.io"], resources: ["crossclusterledgers"], verbs: ["create", "update", "delete"] },
  ];
  return [
    namespace(SHOP, { "lockstep.karmada.io/allowed-clusters": "member1, member2" }),
    namespace(VAULT),
    roleBinding(SHOP, PEOPLE.editor.name, "edit"),
    roleBinding(SHOP, PEOPLE.viewer.name, "view"),
    roleBinding(SHOP, PEOPLE.approver.name, "lockstep-approver"),
    roleBinding(SHOP, PEOPLE.operator.name, "lockstep-operator"),
    role(SHOP, "owner", everything),
    binding(SHOP, PEOPLE.owner.name, "owner"),
    ...(engine === "karmada"
      ? [role("karmada-es-member1", "agent", agentRules), binding("karmada-es-member1", PEOPLE.agent.name, "agent")]
      : []),
    clusterRole("helper", helperRules),
    clusterBinding(PEOPLE.onCall.name, "lockstep-on-call", { "lockstep.karmada.io/on-call": "true" }),
    clusterBinding(PEOPLE.helper.name, "helper"),
    clusterBinding(PEOPLE.administrator.name, "cluster-admin"),
  ];
}

function namespace(name: string, annotations: Record<string, string> = {}): JsonObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, annotations } };
}

const RBAC = "rbac.authorization.k8s.io";

function role(namespace: string, name: string, rules: JsonObject[]): JsonObject {
  return { apiVersion: `${RBAC}/v1`, kind: "Role", metadata: { name, namespace }, rules };
}

function clusterRole(name: string, rules: JsonObject[]): JsonObject {
  return { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name }, rules };
}

function binding(namespace: string, user: string, role: string): JsonObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { name: `test-${role}`, namespace },
    roleRef: { apiGroup: RBAC, kind: "Role", name: role },
    subjects: [{ apiGroup: RBAC, kind: "User", name: user }],
  };
}

function clusterBinding(user: string, role: string, labels: Record<string, string> = {}): JsonObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: `test-${role}`, labels },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: RBAC, kind: "User", name: user }],
  };
}
