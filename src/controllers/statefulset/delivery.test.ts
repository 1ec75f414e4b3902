import { expect, test } from "vitest";
import type { Dispatched } from "../../engine/index.ts";
import type { PlanResult } from "../../plan/index.ts";
import { withDeliveryFailures } from "./delivery.ts";

function dispatched(cluster: string, state: Dispatched["delivery"]["state"], message: string): Dispatched {
  const ref = { apiVersion: "v1", kind: "Db", namespace: "default", name: "db" };
  const rest = { manifest: {}, notes: {}, term: 1, version: "1", uid: cluster, deleting: false, keeps: true };
  return { cluster, ref, ...rest, delivery: { state, message } };
}

function planWith(waiting: PlanResult["waiting"]): PlanResult {
  return { waiting } as PlanResult;
}

const waits = (code: "WaitingForDelivery" | "WaitingForReady", cluster: string) =>
  ({ code, cluster, message: "epoch 2 is granted", evidence: [], remedy: "Wait." }) as const;

test("a refusal is told where its cluster waits for delivery, with what was refused", () => {
  const plan = planWith([waits("WaitingForDelivery", "east"), waits("WaitingForDelivery", "west")]);
  const told = withDeliveryFailures(plan, [dispatched("east", "failed", "spec.x is immutable")]);
  expect(told.waiting[0]?.message).toBe("epoch 2 is granted; the cluster refused Db default/db: spec.x is immutable");
  expect(told.waiting[0]?.evidence).toEqual([
    { object: "Db default/db", field: "delivery", value: "spec.x is immutable" },
  ]);
  expect(told.waiting[1]).toEqual(plan.waiting[1]);
});

test("nothing is said about other waits, or where nothing was refused", () => {
  const plan = planWith([waits("WaitingForReady", "east"), waits("WaitingForDelivery", "west")]);
  const told = withDeliveryFailures(plan, [
    dispatched("east", "failed", "an old refusal"),
    dispatched("west", "delivered", "fine"),
  ]);
  expect(told.waiting).toEqual(plan.waiting);
});
