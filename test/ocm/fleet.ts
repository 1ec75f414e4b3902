import { rulesFor } from "../../src/cli/commands/install/distributed.ts";
import { memberRules } from "../../src/cli/commands/install/roles.ts";
import { OcmEngine, openMemberOverHttp } from "../../src/engine/index.ts";
import { systemClock, systemRandom } from "../../src/runtime/index.ts";
import type { Api } from "../stack/api.ts";
import { type RealFleet, startFleet } from "../stack/fleet.ts";
import type { Stack, StackOptions } from "../stack/ground.ts";
import { startClusterProxy } from "./cluster-proxy.ts";
import { startStack } from "./stack/stack.ts";

export interface OcmFleet extends RealFleet {
  readonly engine: () => OcmEngine;
}

const XLINE = { plural: "xlineclusters", group: "apps.my.io" };
const TICKETS = { plural: "tickets", group: "orders.example" };
const ACCOUNT = { name: "lockstep", namespace: "default" };

/** A real OCM of one's own, in a temporary folder, gone at the end. Its members are seen through their agents alone. */
export async function startOcmFleet(options: StackOptions = {}): Promise<OcmFleet> {
  const fleet = await startFleet("ocm", startStack, options);
  const { hub, log } = fleet;
  return {
    ...fleet,
    engine: () => new OcmEngine({ hub, clock: systemClock, random: systemRandom, log, openMember: openMemberOverHttp }),
  };
}

/** The same with access to every member, as a Secret in its namespace gives it. */
export async function startOcmFleetWithAccess(): Promise<OcmFleet> {
  const fleet = await startOcmFleet();
  for (const [name, member] of fleet.stack.members) await giveAccess(fleet.stack, name, member);
  return fleet;
}

/** The same, and every member is reached through a proxy that has the cluster's name in its path. */
export async function startProxiedOcmFleet(): Promise<OcmFleet> {
  const fleet = await startOcmFleet();
  const proxy = await startClusterProxy(fleet.stack.members);
  for (const [name, member] of fleet.stack.members) {
    await giveAccess(fleet.stack, name, member, { server: proxy.addressOf(name), ca: proxy.ca });
  }
  return {
    ...fleet,
    async stop() {
      await fleet.stop();
      await proxy.stop();
    },
  };
}

/** An account in the member that may do what Lockstep does there directly, and its token on the hub. */
export async function giveAccess(
  { hub, ways }: Pick<Stack, "hub" | "ways">,
  cluster: string,
  member: Api,
  door = { server: ways.get(cluster) ?? member.server, ca: member.tls.ca },
): Promise<void> {
  const rbac = "rbac.authorization.k8s.io";
  const metadata = { name: ACCOUNT.name };
  const kinds = [XLINE, TICKETS, { plural: "secrets", group: "" }];
  const rules = [
    ...memberRules({ workloads: [XLINE], engine: "ocm" }),
    ...rulesFor(kinds, ["get", "list", "watch", "create", "patch"]),
    ...rulesFor([{ plural: "jobs", group: "batch" }], ["get", "list", "watch"]),
    // The API server checks that a role gives nothing away that its writer does not have, also in a dry run.
    { apiGroups: [rbac], resources: ["roles", "clusterroles"], verbs: ["bind", "escalate"] },
  ];
  await member.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: ACCOUNT });
  await member.apply({ apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata, rules });
  await member.apply({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: ACCOUNT.name },
    subjects: [{ kind: "ServiceAccount", ...ACCOUNT }],
  });
  const path = `/api/v1/namespaces/${ACCOUNT.namespace}/serviceaccounts/${ACCOUNT.name}/token`;
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7_200 } };
  const { status, text } = await member.request("POST", path, request);
  if (status !== 201) throw new Error(`${cluster}: no token: ${status} ${text}`);
  const answer: { status: { token: string } } = JSON.parse(text);
  await hub.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "lockstep", namespace: cluster, labels: { "lockstep.karmada.io/member-access": "true" } },
    stringData: { server: door.server, "ca.crt": door.ca, token: answer.status.token },
  });
}
