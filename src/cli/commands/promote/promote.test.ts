import { beforeAll, describe, expect, it } from "vitest";
import { CROSS_CLUSTER_STATEFULSETS } from "../../../embedded/testing/world.ts";
import { isJsonObject } from "../../../runtime/index.ts";
import { CliWorld, exampleObjects, exampleTemplate } from "../../testing/harness.ts";

describe("a rollout that a user promotes or aborts", () => {
  const cli = new CliWorld(31);
  const { world } = cli;
  const rollout = () => {
    const { rollout: found } = world.status("web");
    return isJsonObject(found) ? found : {};
  };
  const waves = [{ clusters: ["member3"], soakSeconds: 3_600 }];
  /** One minute, on the first of June. */
  const maintenanceWindows = [{ cron: "0 0 1 6 *", durationSeconds: 60 }];

  beforeAll(async () => {
    await world.start();
    for (const object of exampleObjects("nginx:1.27", { updateStrategy: { rollingUpdate: { waves } } }))
      await world.apply(object);
    await world.until("deployed", () => world.isSettled("web", 5));
  });

  it("promote ends the soak of the wave, once a user has confirmed it, and records the user", async () => {
    expect((await cli.run(["promote", "web", "--yes"])).err).toContain("no rollout is in progress");
    await world.apply(exampleTemplate("nginx:1.28"));
    await world.until("it soaks", () => rollout().soakUntil !== undefined);
    expect((await cli.run(["approve", "web"])).err).toContain("waits for approval");
    const refused = await cli.run(["promote", "web"], { answer: "no" });
    expect(refused).toMatchObject({ code: 1, err: "error: nothing was changed\n" });
    const soaking = await cli.run(["why", "web"]);
    expect(soaking.out).toContain("\n  lockstep promote web -n default\n");
    const { out, code } = await cli.run(["promote", "web"], { answer: "yes", user: "ada" });
    expect({ out, code }).toEqual({
      out: "CrossClusterStatefulset default/web continues past the soak of wave 1\n",
      code: 0,
    });
    await world.until("the next wave has begun", () => rollout().wave === 2);
    expect(rollout().promoted).toMatch(/^past the soak of wave 1 by ada at 20/);
    await world.until("complete", () => world.isSettled("web", 5));
    expect((await cli.run(["history", "web"])).out).toMatch(/\n {3}promoted past the soak of wave 1 by ada at 20/);
    const promoted = (await world.events("web")).filter((text) => text.startsWith("Promoted "));
    expect(promoted).toEqual([expect.stringContaining("past the soak of wave 1 by ada at 20")]);
  });

  it("abort returns to the revision that the rollout started from, and shows what moves", async () => {
    const before = world.status("web").currentRevision;
    expect((await cli.run(["abort", "web", "--yes"])).err).toContain("no rollout is in progress");
    await world.apply(exampleTemplate("nginx:1.29"));
    await world.until("it soaks", () => rollout().soakUntil !== undefined);
    const asked = await cli.run(["abort", "web"]);
    expect(asked.err).toContain(`Returning to ${before}: member3 (1 instance). Untouched: member1, member2.`);
    expect((await cli.run(["abort", "web", "--yes"])).out).toContain(`returns to ${before}, in order`);
    expect((await cli.run(["status", "web"])).code).toBe(0);
    await world.until("it is back", () => {
      const { currentRevision, updatedReplicas, rollout: going } = world.status("web");
      return currentRevision === before && updatedReplicas === 5 && going === undefined;
    });
    expect((await cli.run(["abort", "web", "--yes"])).err).toContain("there is nothing to abort");
  });

  it("neither acts on another rollout than the one that was read, shown and confirmed", async () => {
    await world.apply(exampleTemplate("nginx:1.29.1"));
    await world.until("it soaks", () => rollout().soakUntil !== undefined);
    for (const [command, ...more] of [["promote"], ["abort"]]) {
      const named = await cli.run([command!, "web", "--yes", "--revision", "web-other", ...more]);
      expect(named.err).toContain("it was to run revision web-other, and is now to run web-");
      const before = world.statefulset("web")?.spec;
      // While the question was open, the rollout continued: the write meets another version of the object.
      let hasConflicted = false;
      const raced = await cli.run([command!, "web"], {
        answer: "yes",
        intercept({ method, path }) {
          if (!path.includes("/crossclusterstatefulsets/web")) return undefined;
          const json = { "content-type": "application/json" };
          if (method === "PATCH" && !hasConflicted) {
            hasConflicted = true;
            const conflict = { kind: "Status", status: "Failure", reason: "Conflict", code: 409, message: "modified" };
            return { status: 409, headers: json, body: JSON.stringify(conflict) };
          }
          if (method !== "GET" || !hasConflicted) return undefined;
          const status = { ...world.status("web"), rollout: { ...rollout(), to: "web-next" } };
          const now = { ...world.statefulset("web"), status };
          return { status: 200, headers: json, body: JSON.stringify(now) };
        },
      });
      expect(raced).toMatchObject({ code: 1, out: "" });
      expect(raced.err).toContain("is now to run web-next. Nothing was done. Look again, then decide");
      expect(world.statefulset("web")?.spec).toEqual(before);
    }
    expect((await cli.run(["promote", "web", "--yes", "--wave", "2"])).err).toContain(
      "at wave 2, and is now at wave 1",
    );
    expect((await cli.run(["abort", "web", "--yes"])).code).toBe(0);
    await world.until("it is back", () => world.isSettled("web", 5) && rollout().to === undefined);
  });

  it("promote overrides a closed maintenance window only for this rollout", async () => {
    const updateStrategy = { rollingUpdate: { waves: null, maintenanceWindows } };
    await world.ask(
      world.hub.patch(
        CROSS_CLUSTER_STATEFULSETS,
        { namespace: "default", name: "web" },
        { type: "merge", body: { spec: { updateStrategy } } },
      ),
    );
    await world.apply(exampleTemplate("nginx:1.30"));
    await world.until("it waits for a window", () => rollout().windowClosed === true);
    expect((await cli.run(["promote", "web", "--yes"])).out).toContain("continues outside the windows");
    await world.until("complete", () => world.isSettled("web", 5));
    await world.apply(exampleTemplate("nginx:1.31"));
    await world.until("the next one waits for a window", () => rollout().windowClosed === true);
    expect((await cli.run(["status", "web"])).out).not.toContain("wave");
  });
});
