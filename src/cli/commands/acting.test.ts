/** Commands that act, against a fleet with the real controller, on virtual time. */
import { beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { CROSS_CLUSTER_STATEFULSETS } from "../../embedded/testing/world.ts";
import { CliWorld, exampleTemplate } from "../testing/harness.ts";

describe("an update", () => {
  const cli = new CliWorld(2);
  beforeAll(() => cli.deploy());

  it("is watched, paused, resumed, explained and undone", async () => {
    const { world } = cli;
    await world.apply(exampleTemplate("nginx:1.28"));
    await world.until("the first step is under way", () => world.status("web").phase === "Updating");
    const status = await cli.run(["status", "web"]);
    expect(status.out).toMatch(/revision web-\w+ -> web-\w+/);
    expect(status.out).toMatch(/member3 {2}Updating .*gate closed, its turn/);
    const why = await cli.run(["why", "web"]);
    expect(why.out).toMatch(/^(WaitingFor\w+|Unhealthy) {2}default\/web waits in member3: /);
    expect(why.out).toContain("\nEvidence\n  default/web in member3  status.");
    expect(why.out).toMatch(/Read more: docs\/runbook\.md, \w+/);

    expect((await cli.run(["pause", "web"])).out).toContain("is paused: the step in progress completes");
    await world.until("the pause is seen", () =>
      JSON.stringify(world.status("web").conditions).includes('"reason":"Paused"'),
    );
    const paused = await cli.run(["why", "web", "-o", "json"]);
    expect(JSON.parse(paused.out)).toMatchObject({
      reason: "Paused",
      needsPerson: true,
      remedy: ["lockstep resume web -n default"],
    });
    expect((await cli.run(["plan", "web"])).code).toBe(2);
    expect((await cli.run(["pause", "web"])).out).toContain("is already paused");

    expect((await cli.run(["resume", "web"])).out).toBe("CrossClusterStatefulset default/web continues\n");
    await world.until("the update is complete", () => world.isSettled("web", 5));

    const history = await cli.run(["history", "web"]);
    expect(history.out).toMatch(
      /^2 {2}web-\w+ {2}.* ago {2}current\n {3}spec\.template\.spec\.containers\[0\]\.image: nginx:1\.27 -> nginx:1.28\n1 {2}web-/,
    );
    expect((await cli.run(["history", "web", "--revision", "2"])).out).toMatch(
      /difference to 1 .*\n[\s\S]*- +image: nginx:1\.27/,
    );
    const second = (await cli.run(["history", "web", "--revision", "2"])).out;
    expect(second).toMatch(/\nits last rollout began at 20\S+Z:\nAFTER +CLUSTER +WHAT +TOOK +WHY\n/);
    for (const member of ["member1", "member2", "member3"])
      expect(second).toMatch(new RegExp(`\\+\\d+s +${member} +Updating +\\d+s +\\S`));
    expect(second).toMatch(/held by \w+/);
    expect((await cli.run(["history", "web", "--revision", "9"])).err).toContain(
      "has no revision '9'; there are: 2, 1",
    );

    expect((await cli.run(["undo", "web", "--to-revision", "7"])).err).toContain("has no revision '7'");
    expect((await cli.run(["undo", "web"])).out).toMatch(/returns to revision 1 \(web-\w+\), in order/);
    const first = history.out.match(/^1 {2}(web-\w+)/m)?.[1];
    await world.until("it returned", () => {
      const { currentRevision, updatedReplicas } = world.status("web");
      return currentRevision === first && updatedReplicas === 5;
    });
    expect((await cli.run(["status", "web"])).out).toContain(`revision ${first} (rejected: `);

    // By now, the controller's Events show how long steps took.
    const plan = await cli.run(["plan", "-f", "web.yaml"], {
      files: { "web.yaml": stringify(exampleTemplate("nginx:1.29")) },
    });
    expect(plan.out).toMatch(/3 steps, \d+ writes\. Time: about \d+s, based on earlier steps and waits\./);
  });

  it("a status written meanwhile does not prevent a change, but a changed spec does", async () => {
    const { world } = cli;
    const conflict = { kind: "Status", status: "Failure", reason: "Conflict", code: 409, message: "modified" };
    const refused = { status: 409, headers: { "content-type": "application/json" }, body: JSON.stringify(conflict) };
    const isPatch = (method: string, path: string) => method === "PATCH" && path.includes("/crossclusterstatefulsets/");
    let conflicts = 2;
    const busy = await cli.run(["pause", "web"], {
      intercept: ({ method, path }) => (isPatch(method, path) && conflicts-- > 0 ? refused : undefined),
    });
    expect(busy).toMatchObject({ code: 0, out: expect.stringContaining("is paused") });
    const before = world.statefulset("web");
    const edited = await cli.run(["resume", "web"], {
      intercept({ method, path }) {
        if (!isPatch(method, path)) return undefined;
        void world.hub.patch(CROSS_CLUSTER_STATEFULSETS, before!.metadata, {
          type: "merge",
          body: { spec: { minReadySeconds: 0, revisionHistoryLimit: 9 } },
        });
        return refused;
      },
    });
    expect(edited).toMatchObject({ code: 1, err: expect.stringContaining("was changed by another user") });
    expect((await cli.run(["resume", "web"])).code).toBe(0);
  });

  it("restart and scale are carried out in order", async () => {
    const { world } = cli;
    const before = world.status("web").updateRevision;
    expect((await cli.run(["restart", "web"])).out).toContain("restarts every instance");
    await world.until("it restarted", () => world.isSettled("web", 5) && world.status("web").updateRevision !== before);
    expect((await cli.run(["scale", "web", "--replicas", "7"])).err).toContain("name the cluster: --cluster NAME=N");
    expect((await cli.run(["scale", "web", "--cluster", "membr3=2"])).err).toContain("did you mean 'member3'?");
    expect((await cli.run(["scale", "web", "--cluster", "member3"])).err).toContain("give NAME=N, such as member1=3");
    expect((await cli.run(["scale", "web", "--cluster", "member3=2"])).out).toContain(
      "is scaled to 6 (member1=2 member2=2 member3=2)",
    );
    await world.until("it has six", () => world.isSettled("web", 6));
    expect((await cli.run(["scale", "web", "--cluster", "member3=0"])).err).toBe(
      "error: Every instance in member3 would be removed. Standard input is not a terminal; pass --yes to confirm\n",
    );
    expect((await cli.run(["scale", "web", "--cluster", "member3=0"], { answer: "no" })).err).toBe(
      "error: nothing was changed\n",
    );
  });
});
