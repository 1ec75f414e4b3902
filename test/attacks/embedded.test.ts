/** Every attack on the embedded hub, which evaluates the shipped roles and policies itself. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultRoles } from "../../src/apiserver/testing/roles.ts";
import { World } from "../../src/embedded/testing/world.ts";
import type { JsonObject } from "../../src/runtime/index.ts";
import { actsOn, attacksOn, byName, type Targets } from "./attacks/index.ts";
import { type Ask, askThrough, installed, PEOPLE, type Person, SHOP, surroundings } from "./ground.ts";
import { approval, crossCluster, crossClusterJob, isSettled, secret, statefulSet } from "./objects.ts";
import { targetsOf } from "./targets.ts";

const APPS = "/apis/apps.karmada.io/v1alpha1/namespaces";

interface Ground {
  readonly world: World;
  readonly as: (person: Person) => Ask;
}

const isPolicy = ({ kind }: JsonObject) => String(kind).startsWith("ValidatingAdmissionPolicy");

/** The application runs in shop, deployed by its editor; the controller has its own account and no other rights. */
async function deployed(objects: readonly JsonObject[]): Promise<Ground> {
  const world = new World(7, { authorizer: "RBAC", installed: [...defaultRoles(), ...objects, ...surroundings()] });
  const as = (person: Person): Ask => {
    const ask = askThrough(world.fleet.hub.transport(PEOPLE[person]));
    return (...request) => world.clock.run(ask(...request));
  };
  await world.clock.run(world.fleet.start());
  world.startController(PEOPLE.controller);
  await deploy(as("editor"), "shop");
  await settled(world, "shop");
  await as("approver")("POST", `${APPS}/shop/rolloutapprovals`, approval("by-anna", { approvedBy: "anna" }));
  return { world, as };
}

async function deploy(ask: Ask, namespace: string, spec: JsonObject = {}): Promise<void> {
  await ask("POST", `/api/v1/namespaces/${namespace}/secrets`, secret("web", namespace));
  await ask("POST", `${APPS}/${namespace}/crossclusterstatefulsets`, crossCluster("web", spec, namespace));
  await ask("POST", `/apis/apps/v1/namespaces/${namespace}/statefulsets`, statefulSet("web", "web:1", namespace));
  if (namespace === SHOP) await ask("POST", `${APPS}/${SHOP}/crossclusterjobs`, crossClusterJob("train"));
}

function settled(world: World, namespace: string): Promise<void> {
  const object = () => world.fleet.hubObject("apps.karmada.io/crossclusterstatefulsets", namespace, "web");
  return world.until("the application runs", () => isSettled(object()));
}

const EMBEDDED = attacksOn("karmada").filter(({ realOnly }) => !realOnly);

describe("on the embedded hub", () => {
  let ground: Ground;
  let targets: Targets;

  beforeAll(async () => {
    ground = await deployed(installed());
    targets = await targetsOf(ground.as("administrator"));
  });

  afterAll(() => ground.world.stop());

  it.each(byName(EMBEDDED))("%s: refused", async (_, { by, attempt, refused, policy }) => {
    const answer = await attempt(ground.as(by), targets);
    expect(answer.message).toContain(refused);
    if (policy !== undefined) expect(answer.message).toContain(`Policy '${policy}.lockstep.karmada.io'`);
    expect([403, 422]).toContain(answer.status);
  });

  it.each(byName(actsOn("karmada")))("%s: allowed", async (_, { by, attempt }) => {
    const answer = await attempt(ground.as(by), targets);
    expect([answer.message, answer.status < 300]).toEqual(["", true]);
  });

  it.each(["Release", "Teardown"])(
    "a namespace with a CrossClusterStatefulset of policy %s can be deleted",
    async (deletionPolicy) => {
      const { world, as } = ground;
      const name = `leaving-${deletionPolicy.toLowerCase()}`;
      const administrator = as("administrator");
      await administrator("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
      await deploy(administrator, name, { deletionPolicy });
      await settled(world, name);
      await administrator("DELETE", `/api/v1/namespaces/${name}`);
      await world.until("it is gone", () => world.fleet.hubObject("/namespaces", "", name) === undefined);
    },
  );
});

describe("on an embedded hub without the admission policies", () => {
  let ground: Ground;
  let targets: Targets;

  beforeAll(async () => {
    ground = await deployed(installed().filter((object) => !isPolicy(object)));
    targets = await targetsOf(ground.as("administrator"));
  });

  afterAll(() => ground.world.stop());

  /** A dry run, so that no attack spoils the ground for the next one. */
  const carefully = (ask: Ask): Ask => {
    return (method, path, ...rest) => ask(method, method === "GET" ? path : `${path}?dryRun=All`, ...rest);
  };

  it.each(byName(EMBEDDED.filter(({ policy }) => policy !== undefined)))("%s: would succeed", async (_, attack) => {
    const answer = await attack.attempt(carefully(ground.as(attack.by)), targets);
    expect([answer.message, answer.status < 300]).toEqual(["", true]);
  });
});
