import { describe, expect, it } from "vitest";
import type { Outcome } from "../../interpret/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { liveSeen } from "./health.ts";

const ref = { apiVersion: "example.io/v1", kind: "Ticket", namespace: "default", name: "one" };
const none = { state: "failed", code: "NoInterpreter", reason: "no interpreter" } as Outcome<never>;

/** What a cluster shows of an object that no interpreter knows, in its second generation. */
function seen(status: JsonObject) {
  const metadata = { name: "one", generation: 2, annotations: { "lockstep.karmada.io/epoch": "5" } };
  const object = { apiVersion: ref.apiVersion, kind: ref.kind, metadata, status };
  return liveSeen({ interpret: () => none }, "member1", ref, { kind: "present", object, source: "live", atMs: 0 });
}
const ready = (more: JsonObject) => ({ conditions: [{ type: "Ready", status: "True", ...more }] });

describe("[A6] the status of an object", () => {
  it("counts only if its controller has seen this generation, as the status or its condition says", () => {
    expect(seen(ready({}))).toMatchObject({ observed: true, health: "Healthy" });
    expect(seen({ ...ready({}), observedGeneration: 1 })).toMatchObject({ observed: false });
    expect(seen(ready({ observedGeneration: 1 }))).toMatchObject({ observed: false });
    expect(seen(ready({ observedGeneration: 2 }))).toMatchObject({ observed: true, health: "Healthy" });
    expect(seen({ ...ready({ observedGeneration: 1 }), observedGeneration: 2 })).toMatchObject({ observed: false });
  });

  it("is not healthy while its own condition says no", () => {
    const status = { conditions: [{ type: "Ready", status: "False", message: "it waits for a seat" }] };
    expect(seen(status)).toMatchObject({ health: "Progressing", message: "Ready is False: it waits for a seat" });
  });
});
