/** What the commands say of a second CrossClusterStatefulset on a template: the controller's own words. */
import { beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";
import type { KubeObject } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { CliWorld, exampleObjects } from "../testing/harness.ts";

const cli = new CliWorld(3);
const CLAIMED =
  /StatefulSet default\/web is managed by CrossClusterStatefulset default\/web; nothing is written for this one/;

function second(name: string, selector: JsonObject): KubeObject {
  const template = { apiVersion: "apps/v1", kind: "StatefulSet", ...selector };
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name, namespace: "default" },
    spec: { resourceSelector: template },
  };
}
const byName = second("by-name", { name: "web" });
const byLabel = second("by-label", { labelSelector: { matchLabels: { tier: "db" } } });

beforeAll(async () => {
  await cli.deploy();
  const template = exampleObjects().find(({ kind }) => kind === "StatefulSet");
  if (!template) throw new Error("the example has a StatefulSet");
  const labels = { ...template.metadata.labels, tier: "db" };
  await cli.world.apply({ ...template, metadata: { ...template.metadata, labels } });
});

it.each([byName, byLabel])("plan says before it is applied that it would wait: $metadata.name", async (object) => {
  const ran = await cli.run(["plan", "-f", "second.yaml"], { files: { "second.yaml": stringify(object) } });
  expect(ran.code).toBe(2);
  expect(ran.out).toMatch(
    new RegExp(`^default/${object.metadata.name}\\n\\nIt would be blocked:\\n  TemplateClaimed: `),
  );
  expect(ran.out).toMatch(CLAIMED);
});

it.each([byName, byLabel])("status, why and plan say the same: $metadata.name", async (object) => {
  const { name } = object.metadata;
  await cli.world.apply(object);
  await cli.world.until("it waits", () => cli.world.status(name).reason === "TemplateClaimed");
  const message = String(cli.world.status(name).message);
  expect(message).toMatch(CLAIMED);
  expect((await cli.run(["status", name])).out).toContain(message);
  expect((await cli.run(["why", name])).out).toContain(`TemplateClaimed  default/${name} waits: ${message}`);
  expect(JSON.parse((await cli.run(["plan", name, "-o", "json"])).out)).toEqual({
    namespace: "default",
    name,
    blocked: true,
    blockedBy: [{ code: "TemplateClaimed", message }],
  });
  expect((await cli.run(["render", name])).err).toContain(message);
});

it("the owner is planned for as before", async () => {
  const { code, out } = await cli.run(["plan", "web"]);
  expect(code).toBe(0);
  expect(out).not.toContain("TemplateClaimed");
});
