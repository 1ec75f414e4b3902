import { beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { isJsonObject } from "../../../runtime/index.ts";
import { CliWorld, exampleTemplate } from "../../testing/harness.ts";

const cli = new CliWorld(7);
beforeAll(() => cli.deploy());

function shop(image: string) {
  const { apiVersion, kind, spec } = exampleTemplate(image);
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "shop", namespace: "default" },
    spec: {
      topology: { clusters: [{ name: "member1", replicas: 1 }] },
      template: { apiVersion, kind, spec: { ...(isJsonObject(spec) ? spec : {}), serviceName: "shop" } },
    },
  };
}

it("an inline template is planned, deployed and given another image", async () => {
  const { world } = cli;
  const files = { "shop.yaml": stringify(shop("nginx:1.27")) };
  expect((await cli.run(["plan", "-f", "shop.yaml"], { files })).out).toContain(
    "apps/v1/StatefulSet default/shop: new",
  );
  await world.apply(shop("nginx:1.27"));
  await world.until("it is settled", () => world.isSettled("shop", 1));
  const before = world.status("shop").updateRevision;
  const changed = { "shop.yaml": stringify(shop("nginx:1.28")) };
  expect((await cli.run(["plan", "-f", "shop.yaml"], { files: changed })).out).toMatch(
    /- .*nginx:1\.27\n.*\+ .*nginx:1\.28/,
  );

  expect((await cli.run(["set-image", "ccs/shop", "*=nginx:1.28"])).out).toContain("=nginx:1.28; the update goes");
  await world.until(
    "it is updated",
    () => world.isSettled("shop", 1) && world.status("shop").updateRevision !== before,
  );
  expect((await cli.run(["set-image", "shop", "*=nginx:1.28"])).out).toContain("has these images already");
  expect((await cli.run(["wait", "shop", "--for", "revision", "--timeout", "0s"])).code).toBe(0);
  expect((await cli.run(["status", "shop"])).out).toContain("default/shop  StatefulSet  Settled");
});

it("a container that is not there, and a text that is no assignment, are refused", async () => {
  expect((await cli.run(["set-image", "shop", "sidecar=x:1"])).err).toContain("has no container 'sidecar'");
  expect((await cli.run(["set-image", "shop", "web"])).err).toContain("give CONTAINER=IMAGE");
});

it("a template that is an object on the hub is left to kubectl", async () => {
  const { err, code } = await cli.run(["set-image", "web", "web=nginx:2"]);
  expect([code, err]).toEqual([
    1,
    expect.stringContaining("use kubectl set image statefulset/web web=nginx:2 -n default"),
  ]);
});
