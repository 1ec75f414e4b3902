import { describe, expect, it } from "vitest";
import { UnknownKindError } from "../../kube/index.ts";
import { Kinds, kindId } from "./kinds.ts";

const TICKET = { apiVersion: "orders.example/v1", kind: "Ticket", metadata: { name: "one" } };
const ID = kindId(TICKET);
const objects = [{ object: TICKET, keep: false, isCrd: false }];
/** A hub that serves no kind at all. */
const hub = {
  discovery: {
    resource: async (apiVersion: string, kind: string) => {
      throw new UnknownKindError(apiVersion, kind);
    },
    served: async () => [],
    serverVersion: async () => undefined,
  },
};
const tickets = { plural: "tickets", namespaced: true };

describe("a kind that neither the hub nor the source knows", () => {
  const asking = (served: Readonly<Record<string, typeof tickets>>) => {
    const asked: string[] = [];
    const kinds = new Kinds(hub, async (cluster) => {
      asked.push(cluster);
      return served[cluster];
    });
    return { kinds, asked };
  };

  it("[A26] is what the clusters that can be asked say, even if some of them do not serve it yet", async () => {
    const { kinds, asked } = asking({ a: tickets, c: tickets });
    const found = await kinds.of(objects, ["a", "b", "c"]);
    expect(found.get(ID)).toEqual({ group: "orders.example", ...tickets, isOfMembers: true });
    expect(asked).toEqual(["a", "b", "c"]);
  });

  it("[A26] is not known if two clusters disagree: one right would be asked for two resources", async () => {
    for (const other of [
      { plural: "secrets", namespaced: true },
      { plural: "tickets", namespaced: false },
    ]) {
      expect(await asking({ a: tickets, b: other }).kinds.of(objects, ["a", "b"])).toEqual(new Map());
    }
  });

  it("[A26] is not known if no cluster serves it, or the engine delivers only kinds of the hub", async () => {
    expect(await asking({}).kinds.of(objects, ["a"])).toEqual(new Map());
    expect(await new Kinds(hub).of(objects, ["a"])).toEqual(new Map());
  });

  it("[A26] is the source's own while clusters serve it in the same way, and a conflict if one does not", async () => {
    const names = { kind: "Ticket", plural: "tickets" };
    const spec = { group: "orders.example", names, scope: "Namespaced", versions: [{ name: "v1" }] };
    const crd = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "tickets" },
      spec,
    };
    const source = [{ object: crd, keep: false, isCrd: true }, ...objects];
    const own = { group: "orders.example", ...tickets, isOwn: true };
    for (const served of [{}, { b: tickets }] as Parameters<typeof asking>[0][]) {
      expect((await asking(served).kinds.of(source, ["a", "b"])).get(ID)).toEqual(own);
    }
    const others = asking({ a: tickets, b: { plural: "secrets", namespaced: true } });
    expect((await others.kinds.of(source, ["a", "b"])).get(ID)).toMatchObject({
      plural: "secrets",
      conflict: "the source's CustomResourceDefinition has tickets, namespaced; a cluster secrets, namespaced",
    });
  });
});
