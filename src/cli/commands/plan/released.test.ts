import { expect, it } from "vitest";
import { stringify } from "yaml";
import { CROSS_CLUSTER_STATEFULSETS } from "../../../embedded/testing/world.ts";
import { CliWorld, exampleObjects } from "../../testing/harness.ts";

it("plan shows that a released application would be adopted unchanged, and not deployed again", async () => {
  const cli = new CliWorld(71);
  await cli.deploy();
  const { world } = cli;
  const token = world.statefulset("web")?.metadata.uid;
  await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "web" }));
  await world.until("it is released", () => world.statefulset("web") === undefined);
  const manifest = exampleObjects()
    .map((object) => stringify(object))
    .join("---\n");
  const { code, out } = await cli.run(["plan", "-f", "f.yaml"], { files: { "f.yaml": manifest } });
  expect(code).toBe(0);
  expect(out).not.toContain("deploy");
  expect(out.match(/adopt/g)?.length ?? 0).toBeGreaterThanOrEqual(3);
  expect(`\n${out}`).toMatchInlineSnapshot(`
    "
    default/web  revision web-68tzmtnbc9, 5 instances

    Already running; it would be adopted unchanged, and nothing moves:
      member1  2 instances  web-68tzmtnbc9  matches the template
      member2  2 instances  web-68tzmtnbc9  matches the template
      member3  1 instance  web-68tzmtnbc9  matches the template

      1. member1  adopt  web-0, web-1  time unknown
         why: it runs the application already; it is taken over as it is
      2. member2  adopt  web-100, web-101  time unknown
         why: it runs the application already; it is taken over as it is
      3. member3  adopt  web-200  time unknown
         why: it runs the application already; it is taken over as it is

    3 steps, 3 writes. Time: unknown for 3 steps (no history).

    It would complete, if every cluster carries out its grants.
    It would stop and report the reason if
      - a cluster becomes unreachable: it waits 5m, then continues without it (failover Wait)
    "
  `);
  // Running instances may have stored the token of the life before: the controller keeps it.
  const rendered = await cli.run(["render", "-f", "f.yaml", "--cluster", "member1"], { files: { "f.yaml": manifest } });
  expect(rendered.out).toContain(`crossclusterstatefulset.karmada.io/cluster-token: ${token}`);
  await world.stop();
});
