/** The real kubectl on an embedded member, whose own controllers run Deployments. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { EmbeddedFleet } from "../../src/embedded/index.ts";
import { systemClock, systemRandom } from "../../src/runtime/index.ts";
import { Cluster } from "./cluster.ts";

const WEB = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`;

let fleet: EmbeddedFleet;
let cluster: Cluster;
beforeAll(async () => {
  const timings = { podStartMs: 100, podStopMs: 50, reactionMs: 5, deliveryMs: 20, healthThresholdMs: 3_000 };
  fleet = new EmbeddedFleet({ clock: systemClock, random: systemRandom, members: ["member1"], timings });
  await fleet.start();
  cluster = await Cluster.start(fleet.member("member1").server);
});
afterAll(async () => {
  await cluster?.close();
  await fleet?.stop();
});

it("kubectl follows the rollout of a Deployment to its end, and undoes it", async () => {
  await cluster.kubectl("apply -f -", WEB);
  const rolledOut = 'deployment "web" successfully rolled out';
  expect(await cluster.kubectl("rollout status deploy/web --timeout=60s")).toContain(rolledOut);
  await cluster.kubectl("set image deploy/web web=web:2");
  const status = await cluster.kubectl("rollout status deploy/web --timeout=60s");
  expect(status).toContain(rolledOut);
  const images =
    "get pods -l app=web -o jsonpath={.items[*].spec.containers[0].image} --field-selector=status.phase=Running";
  expect(await cluster.kubectl(images)).toContain("web:2");
  expect(await cluster.kubectl("rollout history deploy/web")).toMatch(/\n1 +<none>\n2 +<none>/);
  await cluster.kubectl("rollout undo deploy/web");
  expect(await cluster.kubectl("rollout status deploy/web --timeout=60s")).toContain(rolledOut);
  expect(await cluster.kubectl("get deploy web -o jsonpath={.spec.template.spec.containers[0].image}")).toBe("web:1");
});
