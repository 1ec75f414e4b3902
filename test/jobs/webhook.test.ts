/** A kind whose end only an interpreter webhook can tell, over real HTTPS. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  newAuthority,
  newCertificate,
  type RunningServer,
  readBody,
  serve,
} from "../../src/interpret/testing/https.ts";
import { interpreting } from "../../src/interpret/testing/interpreter.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../../src/runtime/index.ts";
import { JobWorld } from "./world.ts";

const TRAINING_RUNS = resource({
  apiVersion: "example.io/v1",
  kind: "TrainingRun",
  plural: "trainingruns",
  namespaced: true,
});
const RUNS = "example.io/trainingruns";
const DEFINITION: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "trainingruns.example.io" },
  spec: {
    group: "example.io",
    scope: "Namespaced",
    names: { kind: "TrainingRun", plural: "trainingruns", singular: "trainingrun", listKind: "TrainingRunList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

describe("a CrossClusterJob of a kind that a webhook interprets", () => {
  const world = new JobWorld({ workloads: [{ plural: "trainingruns", group: "example.io" }] });
  let webhook: RunningServer;
  let isUp = true;
  const asked: string[] = [];

  beforeAll(async () => {
    await world.start();
    const authority = await newAuthority();
    webhook = await serve(await newCertificate(authority), async (request, response) => {
      if (!isUp) return void response.writeHead(503).end();
      const { request: review, ...head }: JsonObject = JSON.parse(await readBody(request));
      const { uid, operation, object } = isJsonObject(review) ? review : {};
      asked.push(String(operation));
      const outcome = valueAt(object, "status", "outcome");
      const state = outcome === "good" ? "succeeded" : outcome === "bad" ? "failed" : "running";
      const completion = {
        state,
        ...(state !== "running" && { reason: "Told", message: `the webhook says ${outcome}` }),
      };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ ...head, response: { uid, successful: true, completion } }));
    });
    await world.create(DEFINITION);
    for (const member of world.fleet.memberNames) await world.create(DEFINITION, member);
    const clientConfig = {
      url: `https://127.0.0.1:${webhook.port}/`,
      caBundle: Buffer.from(authority.pem).toString("base64"),
    };
    const rule = { operations: ["InterpretCompletion"], apiGroups: ["example.io"], kinds: ["TrainingRun"] };
    await world.create(interpreting("runs", { name: "runs.example.io", clientConfig }, rule) as KubeObject);
  });
  afterAll(async () => {
    await world.stop();
    await webhook.close();
  });

  const objectIn = (member: string) => world.fleet.member(member).api.list(RUNS, "default")[0];
  const report = async (member: string, outcome: string) => {
    const name = objectIn(member)?.metadata.name ?? "";
    const patch = { type: "merge", body: { status: { outcome } } } as const;
    await world.fleet
      .client(member)
      .patch(TRAINING_RUNS, { namespace: "default", name }, patch, { subresource: "status" });
  };

  it("continues elsewhere when the webhook says that it failed, and is complete when it says that it succeeded", async () => {
    // Its pods end at once, so the next attempt need not wait for them.
    const pods = { spec: { terminationGracePeriodSeconds: 0 } };
    const template = { apiVersion: "example.io/v1", kind: "TrainingRun", spec: { epochs: 3, template: pods } };
    const failover = { onClusterLoss: { clockAllowanceSeconds: 0 } };
    await world.submit("train", { spec: { template, failover } });
    await world.until("it runs in member1", () => objectIn("member1") !== undefined, "train");
    await report("member1", "bad");
    await world.until("it runs in member2", () => objectIn("member2") !== undefined, "train");
    await world.until("the status has the failure", () => world.courses("train")[0] === "member1 Failed", "train");
    expect(world.attempts("train")[0]).toMatchObject({ reason: "Told", message: "the webhook says bad" });
    expect(new Set(asked)).toEqual(new Set(["InterpretCompletion"]));
  });

  it("takes silence of the webhook for no end at all: nothing starts, and nothing is complete", async () => {
    isUp = false;
    await report("member2", "good");
    await world.roundTrip();
    expect(world.status("train").phase).toBe("Running");
    expect(world.courses("train")).toEqual(["member1 Failed", "member2 Running"]);
    isUp = true;
    await world.phase("train", "Complete");
    expect(world.courses("train")).toEqual(["member1 Failed", "member2 Succeeded"]);
  });

  it("leaves none of the objects behind when the work has ended, and keeps their last status", async () => {
    await world.until("they are removed", () => world.fleet.memberNames.every((member) => !objectIn(member)), "train");
    expect(world.status("train").workload).toEqual({ outcome: "good" });
  });
});
