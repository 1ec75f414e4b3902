import { expect, it } from "vitest";
import type { Dispatched } from "../../../engine/index.ts";
import type { PlanResult } from "../../../plan/index.ts";
import { withAwaited, withDeliveryFailures, withDispatchFailures } from "./delivery.ts";

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

it("a refusal is added to the wait of the cluster that waits for delivery, with the refused object", () => {
  const plan = planWith([waits("WaitingForDelivery", "east"), waits("WaitingForDelivery", "west")]);
  const told = withDeliveryFailures(plan, [dispatched("east", "failed", "spec.x is immutable")]);
  expect(told.waiting[0]?.message).toBe("epoch 2 is granted; the cluster refused Db default/db: spec.x is immutable");
  expect(told.waiting[0]?.evidence).toEqual([
    { object: "Db default/db", field: "delivery", value: "spec.x is immutable" },
  ]);
  expect(told.waiting[1]).toEqual(plan.waiting[1]);
});

it("nothing is said about other waits, or where nothing was refused", () => {
  const plan = planWith([waits("WaitingForReady", "east"), waits("WaitingForDelivery", "west")]);
  const told = withDeliveryFailures(plan, [
    dispatched("east", "failed", "an old refusal"),
    dispatched("west", "delivered", "fine"),
  ]);
  expect(told.waiting).toEqual(plan.waiting);
});

it("a grant that could not be dispatched says why instead of pointing at a delivery that never began", () => {
  const plan = planWith([waits("WaitingForDelivery", "east"), waits("WaitingForDelivery", "west")]);
  const failures = [{ cluster: "west", reason: "WaitingForInterpreter", message: "webhook x is asked" }] as const;
  const told = withDispatchFailures(plan, failures).waiting;
  expect(told[0]).toBe(plan.waiting[0]);
  expect(told[1]).toMatchObject({
    message: "its grant is not dispatched yet: webhook x is asked",
    remedy: "The dispatch is tried again by itself.",
  });
});

it("[I21] what has to be in a cluster before its grant is said where its grant is waited for", () => {
  const plan = planWith([
    waits("WaitingForDelivery", "east"),
    waits("WaitingForReady", "east"),
    waits("WaitingForDelivery", "west"),
  ]);
  const message = "ConfigMap default/db-topology-1 is not in east yet";
  const told = withAwaited(plan, [{ cluster: "east", message }]);
  expect(told.waiting[0]?.message).toBe(
    `epoch 2 is granted; what its topology-ref names has to be there first: ${message}`,
  );
  expect(told.waiting[0]?.evidence).toEqual([{ object: "cluster east", field: "topology-ref", value: message }]);
  expect(told.waiting.slice(1)).toEqual(plan.waiting.slice(1));
  expect(withAwaited(plan, [])).toBe(plan);
});
