import { expect, it } from "vitest";
import type { KubeClient } from "../../kube/index.ts";
import { systemClock } from "../../runtime/index.ts";
import { partOf } from "./content.ts";
import { kindId } from "./kinds.ts";
import { Rights } from "./rights.ts";

interface Review {
  readonly resourceAttributes: { readonly verb: string; readonly resource: string };
}

const ACCOUNT = { namespace: "shop", name: "deployer" };
const hub = { review: async () => ({ status: { allowed: true } }) } as unknown as KubeClient;
const ticket = { apiVersion: "orders.example/v1", kind: "Ticket", metadata: { name: "one", namespace: "shop" } };
const parts = [partOf({ object: ticket, keep: false, isCrd: false })];

it("a role or a binding needs escalate or bind whatever plural the source's own definition gives its kind", async () => {
  const asked: string[] = [];
  const asking = {
    review: async (_of: unknown, { resourceAttributes: { verb, resource } }: Review) => {
      asked.push(`${verb} ${resource}`);
      return { status: { allowed: true } };
    },
  } as unknown as KubeClient;
  const apiVersion = "rbac.authorization.k8s.io/v1alpha1";
  const roleRef = { kind: "ClusterRole", name: "cluster-admin" };
  const own = ["ClusterRole", "ClusterRoleBinding"].map((kind) =>
    partOf({ object: { apiVersion, kind, metadata: { name: "all" }, roleRef }, keep: false, isCrd: false }),
  );
  const kinds = new Map(
    own.map(({ object }) => [
      kindId(object),
      { group: "rbac.authorization.k8s.io", plural: "harmless", namespaced: false },
    ]),
  );
  await new Rights(asking, systemClock).missing(ACCOUNT, own, kinds);
  expect(asked).toEqual(["distribute harmless", "escalate clusterroles", "bind clusterroles"]);
});

it("a kind that the hub no longer serves counts as not allowed: its plural is not known", async () => {
  const rights = new Rights(hub, systemClock);
  expect(await rights.missing(ACCOUNT, parts, new Map())).toEqual([
    "distribute Ticket of orders.example/v1, which neither the hub nor a cluster that can be asked serves now",
  ]);
  const served = new Map([[kindId(ticket), { group: "orders.example", plural: "tickets", namespaced: true }]]);
  expect(await rights.missing(ACCOUNT, parts, served)).toEqual([]);
});
