/** The attacks on a real hub of Open Cluster Management, and what a tenant's own objects there cannot bring about. */
import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClusterConnection, isKubeObject } from "../../src/kube/index.ts";
import type { JsonObject } from "../../src/runtime/index.ts";
import { startWorld } from "../ocm/world.ts";
import { connectAs } from "../stories/people.ts";
import type { World } from "../stories/world.ts";
import { inline, MANIFEST_WORKS } from "./attacks/attack.ts";
import { actsOn, attacksOn, byName, type Targets } from "./attacks/index.ts";
import { type Ask, askThrough, MERGE, PEOPLE, type Person, SHOP, surroundings, VAULT } from "./ground.ts";
import {
  approval,
  crossCluster,
  crossClusterJob,
  isSettled,
  manifestWork,
  memberAccess,
  secret,
  statefulSet,
} from "./objects.ts";
import { targetsOf } from "./targets.ts";

const APPS = "/apis/apps.karmada.io/v1alpha1/namespaces";
const PLACES = `/apis/cluster.open-cluster-management.io/v1beta1/namespaces/${SHOP}`;

describe("on a real Open Cluster Management", () => {
  let world: World;
  let targets: Targets;
  let listener: Server;
  /** Connections to a server that a tenant runs. */
  let connected = 0;
  const connections = new Map<Person, ClusterConnection>();
  const words: string[] = [];

  const as = (person: Person): Ask => {
    const connection = connections.get(person);
    if (!connection) throw new Error(`${person} is not connected`);
    return askThrough(connection.transport);
  };
  const create = async (ask: Ask, path: string, object: JsonObject): Promise<void> => {
    const { status, message } = await ask("POST", path, object);
    if (status !== 201) throw new Error(`${path}: ${status} ${message}`);
  };
  const found = async (name: string) =>
    (await as("administrator")("GET", `${APPS}/${SHOP}/crossclusterstatefulsets/${name}`)).body;
  const deploy = (ask: Ask, name: string, spec: JsonObject) =>
    create(ask, `${APPS}/${SHOP}/crossclusterstatefulsets`, crossCluster(name, spec));
  const settled = (name: string) =>
    world.until(`${name} runs`, async () => {
      const object = await found(name);
      return isSettled(object) || JSON.stringify(object.status);
    });
  const updated = async (image: string) => {
    const containers = [{ name: "web", image }];
    const patch = { spec: { template: { spec: { template: { spec: { containers } } } } } };
    const { message } = await as("editor")("PATCH", `${APPS}/${SHOP}/crossclusterstatefulsets/web`, patch, MERGE);
    expect(message).toBe("");
    await world.until(`every cluster runs ${image}`, async () => {
      const images = await Promise.all(["member1", "member2"].map((name) => imageIn(name)));
      return images.every((each) => each === image) || images.join(", ");
    });
    await settled("web");
  };
  const imageIn = async (member: string): Promise<string> => {
    const pods = await world.stack.members.get(member)?.get(`/api/v1/namespaces/${SHOP}/pods?labelSelector=app%3Dweb`);
    return /"image":"([^"]+)"/.exec(JSON.stringify(pods))?.[1] ?? "none";
  };

  beforeAll(async () => {
    listener = createServer((socket) => {
      connected++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    world = await startWorld();
    for (const object of surroundings("ocm")) if (isKubeObject(object)) await world.stack.hub.apply(object);
    // Karmada creates a namespace where it delivers something; the agents of Open Cluster Management do not.
    for (const member of world.stack.members.values()) {
      await member.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: SHOP } });
    }
    for (const person of Object.keys(PEOPLE) as Person[]) {
      connections.set(person, await connectAs(world.stack, PEOPLE[person]));
    }
    const mine = `${APPS}/${SHOP}/crossclusterstatefulsets`;
    await world.until("the roles are in force", async () => (await as("viewer")("GET", mine)).status === 200);
    await world.until("the editor may edit", async () => {
      const { message, status } = await as("editor")("POST", `${mine}?dryRun=All`, crossCluster("probe"));
      return status === 201 || message;
    });
    await create(as("editor"), `/api/v1/namespaces/${SHOP}/secrets`, secret("web"));
    await deploy(as("editor"), "web", inline(statefulSet("web", "web:1")));
    await settled("web");
    await create(as("editor"), `${APPS}/${SHOP}/crossclusterjobs`, crossClusterJob("train"));
    await create(as("approver"), `${APPS}/${SHOP}/rolloutapprovals`, approval("by-anna", { approvedBy: "anna" }));
    targets = await targetsOf(as("administrator"), "ocm");
  });

  afterAll(async () => {
    console.log(words.join("\n"));
    listener?.close();
    await Promise.all([...connections.values()].map((connection) => connection.close()));
    await world?.stop();
  });

  it.each(byName(attacksOn("ocm")))("%s: refused", async (name, { by, attempt, refused, policy }) => {
    const answer = await attempt(as(by), targets);
    words.push(`${name}\n    ${answer.status} ${answer.message}`);
    expect(answer.message).toContain(refused);
    if (policy !== undefined) expect(answer.message).toContain(`Policy '${policy}.lockstep.karmada.io'`);
    expect([403, 422]).toContain(answer.status);
  });

  it.each(byName(actsOn("ocm")))("%s: allowed", async (_, { by, attempt }) => {
    const answer = await attempt(as(by), targets);
    expect([answer.message, answer.status < 300]).toEqual(["", true]);
  });

  it("a tenant's Secret for member access opens no connection to the tenant's server", async () => {
    const address = listener.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    await create(as("editor"), `/api/v1/namespaces/${SHOP}/secrets`, memberAccess(`https://127.0.0.1:${port}`));
    await updated("web:2");
    expect(connected).toBe(0);
  });

  it("another tenant's ManifestWork that names the workload, in a namespace that is no cluster's, stops nothing", async () => {
    const rival = manifestWork(VAULT, statefulSet("web", "evil:1"), {});
    await create(as("administrator"), MANIFEST_WORKS(VAULT), rival);
    await updated("web:3");
    expect(await imageIn("member1")).toBe("web:3");
  });

  it("marks that a tenant writes into a template are replaced by Lockstep's own, and prove nothing", async () => {
    const forged = {
      "lockstep.karmada.io/write": "aaaaaaaa.1.9999999999999",
      "crossclusterstatefulset.karmada.io/epoch": "999999",
    };
    const plain = statefulSet("marked", "web:1");
    const template = { ...plain, metadata: { name: "marked", annotations: forged } };
    await deploy(as("editor"), "marked", inline(template));
    await settled("marked");
    const written = await world.stack.members
      .get("member1")
      ?.get<JsonObject>(`/apis/apps/v1/namespaces/${SHOP}/statefulsets/marked`);
    const text = JSON.stringify(written?.metadata);
    expect(text).not.toContain("9999999999999");
    expect(text).not.toContain('"999999"');
    expect(text).toMatch(/"lockstep.karmada.io\/write":"[a-z0-9]{8}\.\d+\.\d+"/);
  });

  it("a decision that an owner of the namespace forges gives no cluster that the namespace may not use", async () => {
    const owner = as("owner");
    const of = { apiVersion: "cluster.open-cluster-management.io/v1beta1" };
    const metadata = { name: "zones", namespace: SHOP };
    // So that the hub's own controller leaves it alone.
    const annotations = { "cluster.open-cluster-management.io/experimental-scheduling-disable": "true" };
    await create(owner, `${PLACES}/placements`, {
      ...of,
      kind: "Placement",
      metadata: { ...metadata, annotations },
      spec: {},
    });
    const labels = { "cluster.open-cluster-management.io/placement": "zones" };
    const decision = { ...of, kind: "PlacementDecision", metadata: { ...metadata, name: "forged", labels } };
    await create(owner, `${PLACES}/placementdecisions`, decision);
    const decisions = ["member1", "member3"].map((clusterName) => ({ clusterName, reason: "" }));
    await owner("PATCH", `${PLACES}/placementdecisions/forged/status`, { status: { decisions } }, MERGE);
    const satisfied = { type: "PlacementSatisfied", status: "True", reason: "x", message: "" };
    const conditions = [{ ...satisfied, lastTransitionTime: "2026-01-01T00:00:00Z" }];
    const selected = { status: { numberOfSelectedClusters: 2, conditions } };
    const { message } = await owner("PATCH", `${PLACES}/placements/zones/status`, selected, MERGE);
    expect(message).toBe("");
    const topology = { placementRef: { name: "zones" } };
    await deploy(as("editor"), "placed", { ...inline(statefulSet("placed", "web:1")), replicas: 2, topology });
    await world.until("the status says why", async () => {
      const text = JSON.stringify((await found("placed")).status);
      return text.includes(`selects member3, which namespace ${SHOP} may not use`) || text;
    });
    const inside = await world.stack.members
      .get("member3")
      ?.get(`/apis/apps/v1/namespaces/${SHOP}/statefulsets/placed`);
    expect(inside).toBeUndefined();
  });
});
