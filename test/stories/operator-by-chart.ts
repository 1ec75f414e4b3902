/** examples/operator-chart on any real hub: an operator by chart to three clusters, then its custom resource over them. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { isKubeObject, type KubeObject, resource } from "../../src/kube/index.ts";
import { isJsonObject, valueAt } from "../../src/runtime/index.ts";
import type { RealRenderer } from "../apps/harness.ts";
import type { World } from "./world.ts";
import { describeXline, xline } from "./xline.ts";
import { startXlineOperator, type XlineOperator } from "./xline-operator.ts";

const EXAMPLES = new URL("../../examples/", import.meta.url).pathname;
const MEMBERS = ["member1", "member2", "member3"];
const PATIENCE_MS = 110_000;
const DEPLOYMENTS = resource({ apiVersion: "apps/v1", kind: "Deployment", plural: "deployments", namespaced: true });

export function objectsIn(path: string): KubeObject[] {
  return parseAllDocuments(readFileSync(join(EXAMPLES, path), "utf8"))
    .map((document): unknown => document.toJS())
    .filter(isKubeObject);
}

/** As `helm package` and `kubectl create configmap --from-file` make it. */
export function packaged(helm: string, chart: string, name: string): KubeObject {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-example-"));
  try {
    execFileSync(helm, ["package", join(EXAMPLES, chart), "-d", folder], { env: { HOME: folder } });
    const [file = ""] = readdirSync(folder).filter((each) => each.endsWith(".tgz"));
    const binaryData = { [file]: readFileSync(join(folder, file)).toString("base64") };
    return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, binaryData };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** In each cluster the operator's program runs while the Deployment of the chart is ready there, and not before. */
export function operatorByChartStory(on: () => World, renderer: () => RealRenderer): void {
  let world: World;
  const operators = new Map<string, XlineOperator>();
  beforeAll(() => {
    world = on();
  });
  afterAll(async () => {
    await Promise.all([...operators.values()].map((operator) => operator.stop()));
  });

  const startWhereReady = async () => {
    for (const [name, api] of world.stack.members) {
      if (operators.has(name)) continue;
      const at = { namespace: "xline-system", name: "xline-operator" };
      const found = await world.member(name).find(DEPLOYMENTS, at);
      if (valueAt(found, "status", "readyReplicas") !== 1) continue;
      operators.set(name, startXlineOperator(name, api, { object: "xline", readsAnnotations: true }));
    }
    return [...operators.keys()];
  };

  it("an operator reaches three clusters by its chart, and then runs its custom resource over all of them", {
    timeout: 300_000,
  }, async () => {
    for (const object of objectsIn("operator-chart/chart/crds/xlineclusters.yaml")) await world.stack.hub.apply(object);
    for (const object of objectsIn("operator-chart/1-rights.yaml")) await world.stack.hub.apply(object);
    await world.stack.hub.apply(packaged(renderer().helm, "operator-chart/chart", "xline-operator-chart"));
    for (const object of objectsIn("operator-chart/2-operator.yaml")) await world.stack.hub.apply(object);
    const path = "/apis/apps.karmada.io/v1alpha1/namespaces/default/distributedapplications/xline-operator";
    await world.until(
      "the operator is in every cluster",
      async () => {
        await startWhereReady();
        const status = (await world.stack.hub.get<KubeObject>(path))?.status;
        return (isJsonObject(status) && status.phase === "Settled") || JSON.stringify(status);
      },
      PATIENCE_MS,
    );
    expect(await startWhereReady()).toEqual(MEMBERS);
    await world.stage.prepareKind(world);
    await describeXline(world);
    await world.stage.declare(world, "xline", xline("xline:1"));
    await world.until("three instances are ready", () => world.settled("xline", 3), PATIENCE_MS);
    expect([...operators.values()].map(({ image }) => image)).toEqual(["xline:1", "xline:1", "xline:1"]);
  });
}
