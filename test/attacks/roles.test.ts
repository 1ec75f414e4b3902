/** What each shipped role lets a person do with the command line, and what it does not. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultRoles } from "../../src/apiserver/testing/roles.ts";
import { runCli } from "../../src/cli/program.ts";
import { testIo } from "../../src/cli/testing/harness.ts";
import { World } from "../../src/embedded/testing/world.ts";
import { type Ask, askThrough, installed, MERGE, PEOPLE, type Person, surroundings } from "./ground.ts";
import { crossCluster, isSettled, secret, statefulSet } from "./objects.ts";

const SETS = "/apis/apps/v1/namespaces/shop/statefulsets";

describe("the shipped roles", () => {
  const world = new World(11, {
    authorizer: "RBAC",
    installed: [...defaultRoles(), ...installed(), ...surroundings()],
  });

  async function lockstep(person: Person, ...args: string[]): Promise<{ code: number; said: string }> {
    const io = testIo(world.clock, world.fleet.hub.transport(PEOPLE[person]));
    const code = await world.clock.run(runCli([...args, "-n", "shop"], io));
    return { code, said: [...io.out, ...io.err].join("") };
  }

  const object = () => world.fleet.hubObject("apps.karmada.io/crossclusterstatefulsets", "shop", "web");
  const settled = () => world.until("the application has settled", () => isSettled(object()));

  beforeAll(async () => {
    await world.clock.run(world.fleet.start());
    world.startController(PEOPLE.controller);
    const ask = askThrough(world.fleet.hub.transport(PEOPLE.editor));
    const editor: Ask = (...request) => world.clock.run(ask(...request));
    const waves = [{ clusters: ["member1"], approval: "Manual" }];
    const updateStrategy = { type: "RollingUpdate", rollingUpdate: { waves } };
    await editor("POST", "/api/v1/namespaces/shop/secrets", secret("web"));
    await editor(
      "POST",
      "/apis/apps.karmada.io/v1alpha1/namespaces/shop/crossclusterstatefulsets",
      crossCluster("web", { updateStrategy }),
    );
    await editor("POST", SETS, statefulSet("web", "web:1"));
    await settled();
    await editor("PATCH", `${SETS}/web`, statefulSet("web", "web:2"), MERGE);
    await world.until("it awaits approval", () => JSON.stringify(object()?.status).includes('"AwaitingApproval"'));
  });

  afterAll(() => world.stop());

  it.each<[Person, string]>([
    ["viewer", "status web"],
    ["viewer", "why web"],
    ["viewer", "history web"],
    ["approver", "status web"],
    ["approver", "why web"],
    ["approver", "history web"],
    ["operator", "why web"],
    ["operator", "history web"],
    ["operator", "pause web"],
    ["operator", "resume web"],
  ])("let a person with the role %s run '%s'", async (person, line) => {
    const { code, said } = await lockstep(person, ...line.split(" "));
    expect([said.includes("forbidden"), code]).toEqual([false, 0]);
  });

  it.each<[Person, string, string]>([
    ["viewer", "pause web", 'User "vera" cannot patch resource "crossclusterstatefulsets"'],
    ["viewer", "approve web", 'User "vera" cannot create resource "rolloutapprovals"'],
    ["editor", "approve web", 'User "alice" cannot create resource "rolloutapprovals"'],
    ["operator", "approve web", 'User "otto" cannot create resource "rolloutapprovals"'],
    ["approver", "pause web", 'User "anna" cannot patch resource "crossclusterstatefulsets"'],
    ["approver", "restart web", 'User "anna" cannot patch resource "crossclusterstatefulsets"'],
  ])("do not let a person with the role %s run '%s'", async (person, line, words) => {
    const { code, said } = await lockstep(person, ...line.split(" "));
    expect(said).toContain(words);
    expect(code).toBe(1);
  });

  it("let an approver open the wave, and an operator restart, undo and scale", async () => {
    expect(await lockstep("approver", "approve", "web")).toMatchObject({ code: 0 });
    await settled();
    expect(await lockstep("operator", "restart", "web")).toMatchObject({ code: 0 });
    expect(await lockstep("operator", "undo", "web")).toMatchObject({ code: 0 });
    expect(await lockstep("operator", "scale", "web", "--cluster", "member1=2")).toMatchObject({ code: 0 });
  });
});
