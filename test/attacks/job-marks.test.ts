/** A tenant of a member forges what Lockstep would create there: it is left alone, and the work is done elsewhere. */
import { createHash } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import { World } from "../../src/embedded/testing/world.ts";
import { OWNER_LABEL, ownerMark } from "../../src/engine/index.ts";
import type { KubeObject } from "../../src/kube/index.ts";
import { isJsonObject, type JsonObject } from "../../src/runtime/index.ts";
import { crossClusterJob } from "./objects.ts";

/** As Lockstep labels what it creates: a tenant may know it. */
const OWNED = { [OWNER_LABEL]: ownerMark({ kind: "CrossClusterJob", namespace: "default", name: "train" }) };
const MARK = "lockstep.karmada.io/job-attempt";
let world: World;
beforeEach(async () => {
  world = new World(5);
  await world.start();
});
afterEach(() => world.stop());

/** Suspended until the forgery is in place, as if the tenant knew the name beforehand. */
async function forge(
  markOf: (uid: string) => JsonObject | string | undefined,
  labels: Record<string, string>,
  settled: () => boolean,
): Promise<KubeObject> {
  const base = crossClusterJob("train", {}, { clusters: { names: ["member1", "member2"] }, suspend: true });
  const job = await world.apply({ ...(base as KubeObject), metadata: { name: "train", namespace: "default" } });
  const uid = job.metadata.uid ?? "";
  const life = createHash("sha256").update(uid).digest("hex").slice(0, 5);
  const mark = markOf(uid);
  const forged: KubeObject = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: `train-${life}-1`,
      namespace: "default",
      labels,
      ...(mark !== undefined && { annotations: { [MARK]: typeof mark === "string" ? mark : JSON.stringify(mark) } }),
    },
    spec: {
      suspend: true,
      template: { spec: { restartPolicy: "Never", containers: [{ name: "x", image: "evil:1" }] } },
    },
  };
  const member = world.fleet.member("member1").api;
  await world.ask(member.create(forged));
  const spec = { ...(base.spec as JsonObject), suspend: false };
  await world.apply({ ...(base as KubeObject), metadata: { name: "train", namespace: "default" }, spec });
  await world.until("it has settled", settled);
  const found = member.get("batch/jobs", "default", forged.metadata.name);
  if (!found) throw new Error("the tenant's object is gone");
  return found;
}

const statusOf = (): JsonObject => {
  const status = world.fleet.hubObject("apps.karmada.io/crossclusterjobs", "default", "train")?.status;
  return isJsonObject(status) ? status : {};
};

it.each([
  ["without a mark", () => undefined],
  ["with the mark of another CrossClusterJob", () => ({ owner: "other", number: 1, share: { kind: "whole" } })],
  ["with the mark of another attempt", (uid: string) => ({ owner: uid, number: 7, share: { kind: "whole" } })],
  ["with a mark that is no JSON", () => "{".repeat(1_000)],
  ["with a mark that has no share", (uid: string) => ({ owner: uid, number: 1, share: [] })],
])("an object of the attempt's name %s is not touched, and the work is done in another cluster", async (_, markOf) => {
  const found = await forge(markOf, OWNED, () => statusOf().phase === "Complete");
  expect(statusOf().attempts).toMatchObject([{ cluster: "member2", state: "Succeeded" }]);
  expect(JSON.stringify(found.spec)).toContain("evil:1");
});

it("an object of the attempt's name that has no label of Lockstep's is not touched either: the work is done under another name", async () => {
  const found = await forge(
    () => undefined,
    {},
    () => statusOf().phase === "Complete",
  );
  const attempts = Array.isArray(statusOf().attempts) ? (statusOf().attempts as JsonObject[]) : [];
  expect(attempts.filter(({ state }) => state === "Succeeded").map(({ object }) => object)).not.toContain(
    found.metadata.name,
  );
  expect(attempts.some(({ state }) => state === "Succeeded")).toBe(true);
  expect(JSON.stringify(found.spec)).toContain("evil:1");
  expect(found.metadata.labels ?? {}).toEqual({});
});
