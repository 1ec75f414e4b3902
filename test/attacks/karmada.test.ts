/** The same attacks on a real Karmada, each by a person with a kubeconfig of its own; and what must end, ends. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClusterConnection, isKubeObject } from "../../src/kube/index.ts";
import type { JsonObject } from "../../src/runtime/index.ts";
import { startWorld, type World } from "../karmada/world.ts";
import { connectAs } from "../stories/people.ts";
import { actsOn, attacksOn, byName, type Targets } from "./attacks/index.ts";
import { type Ask, askThrough, MERGE, PEOPLE, type Person, surroundings } from "./ground.ts";
import { approval, crossCluster, crossClusterJob, isSettled, secret, statefulSet } from "./objects.ts";
import { saved } from "./page.ts";
import { targetsOf } from "./targets.ts";

const APPS = "/apis/apps.karmada.io/v1alpha1/namespaces";

describe("on a real Karmada", () => {
  let world: World;
  let targets: Targets;
  const connections = new Map<Person, ClusterConnection>();
  /** What each person read, for the suite's log. */
  const words: string[] = [];

  const as = (person: Person): Ask => {
    const connection = connections.get(person);
    if (!connection) throw new Error(`${person} is not connected`);
    return askThrough(connection.transport);
  };
  const administrator: Ask = (...request) => as("administrator")(...request);

  async function create(ask: Ask, path: string, object: JsonObject): Promise<void> {
    const { status, message } = await ask("POST", path, object);
    if (status !== 201) throw new Error(`${path}: ${status} ${message}`);
  }

  async function deploy(ask: Ask, namespace: string, spec: JsonObject = {}): Promise<void> {
    await create(ask, `/api/v1/namespaces/${namespace}/secrets`, secret("web", namespace));
    await create(ask, `${APPS}/${namespace}/crossclusterstatefulsets`, crossCluster("web", spec, namespace));
    await create(ask, `/apis/apps/v1/namespaces/${namespace}/statefulsets`, statefulSet("web", "web:1", namespace));
    await settled(namespace);
  }

  async function settled(namespace: string): Promise<void> {
    await world.until(`the application in ${namespace} runs`, async () => {
      const { body } = await administrator("GET", `${APPS}/${namespace}/crossclusterstatefulsets/web`);
      return isSettled(body) || JSON.stringify(body.status);
    });
  }

  async function apply(object: JsonObject): Promise<void> {
    if (isKubeObject(object)) await world.stack.hub.apply(object);
  }

  async function imageIn(member: string): Promise<string> {
    const pods = await world.stack.members.get(member)?.get("/api/v1/namespaces/shop/pods");
    return /"image":"([^"]+)"/.exec(JSON.stringify(pods))?.[1] ?? "none";
  }

  beforeAll(async () => {
    world = await startWorld();
    for (const object of surroundings()) await apply(object);
    for (const person of Object.keys(PEOPLE) as Person[]) {
      connections.set(person, await connectAs(world.stack, PEOPLE[person]));
    }
    // Kubernetes adds the shipped roles up into its own a moment after they were created.
    const mine = `${APPS}/shop/crossclusterstatefulsets`;
    await world.until("the roles are in force", async () => (await as("viewer")("GET", mine)).status === 200);
    await world.until("the editor may edit", async () => {
      const { message, status } = await as("editor")("POST", `${mine}?dryRun=All`, crossCluster("probe"));
      return status === 201 || message;
    });
    await deploy(as("editor"), "shop");
    await create(as("editor"), `${APPS}/shop/crossclusterjobs`, crossClusterJob("train"));
    await create(as("approver"), `${APPS}/shop/rolloutapprovals`, approval("by-anna", { approvedBy: "anna" }));
    targets = await targetsOf(administrator);
  });

  afterAll(async () => {
    console.log(words.join("\n"));
    await Promise.all([...connections.values()].map((connection) => connection.close()));
    await world?.stop();
  });

  it.each(byName(attacksOn("karmada")))("%s: refused", async (name, { by, attempt, refused, policy }) => {
    const answer = await attempt(as(by), targets);
    words.push(`${name}\n    ${answer.status} ${answer.message}`);
    expect(answer.message).toContain(refused);
    if (policy !== undefined) expect(answer.message).toContain(`Policy '${policy}.lockstep.karmada.io'`);
    expect([403, 422]).toContain(answer.status);
  });

  it.each(byName(actsOn("karmada")))("%s: allowed", async (_, { by, attempt }) => {
    const answer = await attempt(as(by), targets);
    expect([answer.message, answer.status < 300]).toEqual(["", true]);
  });

  it.each(["Release", "Teardown"])(
    "a namespace with a CrossClusterStatefulset of policy %s can be deleted",
    async (deletionPolicy) => {
      const name = `leaving-${deletionPolicy.toLowerCase()}`;
      await create(administrator, "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
      await deploy(administrator, name, { deletionPolicy });
      await administrator("DELETE", `/api/v1/namespaces/${name}`);
      await world.until(`namespace ${name} is gone`, async () => {
        const { status, body } = await administrator("GET", `/api/v1/namespaces/${name}`);
        return status === 404 || JSON.stringify(body.status);
      });
    },
  );

  it("the narrower rights of docs/security.md are enough to update the application in that namespace", async () => {
    for (const object of saved("docs/security.md", "narrow.yaml")) await apply(object);
    const image = { spec: { template: { spec: { containers: [{ name: "web", image: "web:2" }] } } } };
    const updated = await as("editor")("PATCH", "/apis/apps/v1/namespaces/shop/statefulsets/web", image, MERGE);
    expect(updated.message).toBe("");
    await world.until("every member runs the new image", async () => {
      const images = await Promise.all(["member1", "member2"].map((name) => imageIn(name)));
      return images.every((each) => each === "web:2") || images.join(", ");
    });
    await settled("shop");
  });

  it("a hold that was released can be deleted by an editor of its namespace", async () => {
    await as("editor")("DELETE", `${APPS}/shop/crossclusterstatefulsets/web`);
    await world.until("the application is released", async () => {
      const { status } = await administrator("GET", `${APPS}/shop/crossclusterstatefulsets/web`);
      return status === 404;
    });
    const { status } = await as("editor")("DELETE", targets.hold);
    expect([200, 404]).toContain(status);
  });
});
