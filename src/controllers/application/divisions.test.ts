import { describe, expect, it } from "vitest";
import { type ParsedDistributedApplication, parseDistributedApplication } from "../../api/index.ts";
import type { DivisionRequest, Engine, EngineBundle } from "../../engine/index.ts";
import { askScheduler, divisionRefused } from "./divisions.ts";
import type { DividedPart } from "./way.ts";

const OWNER: EngineBundle = { kind: "DistributedApplication", namespace: "default", name: "shop", objects: [] };
const WORKLOAD = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "default" } };
const WEB: DividedPart = {
  key: "Deployment/web",
  object: "apps/v1 Deployment default/web",
  total: 3,
  scheduled: { workload: WORKLOAD, replicas: 3, isAggregated: false },
};
const API: DividedPart = { key: "Deployment/api", object: "apps/v1 Deployment default/api", total: 2 };

function application(replicas: object[]): ParsedDistributedApplication {
  const parsed = parseDistributedApplication({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "DistributedApplication",
    metadata: { name: "shop", namespace: "default" },
    spec: { source: { manifests: { inline: [WORKLOAD] } }, clusters: { names: ["a"] }, replicas },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.value;
}

/** Of the port's methods, only this one is asked. */
function engineThat(divide?: Engine["divide"]): Engine {
  return { ...(divide && { divide }) } as unknown as Engine;
}

describe("replicas that the engine's scheduler divides", () => {
  const replicas = [
    { kind: "Deployment", name: "api" },
    { kind: "Deployment", name: "web", by: "Scheduler" },
  ];

  it("are refused with the field and the remedy on an engine without such a scheduler", () => {
    expect(divisionRefused(application(replicas), engineThat())).toBe(
      "spec.replicas[1].by: only Karmada has a scheduler that divides replicas; remove it, and divide by weights",
    );
    expect(divisionRefused(application(replicas.slice(0, 1)), engineThat())).toBeUndefined();
    const karmada = engineThat(async () => ({ schedules: [], isTidy: true }));
    expect(divisionRefused(application(replicas), karmada)).toBeUndefined();
  });

  it("are asked for over the chosen clusters, and only those of workloads that are left to it", async () => {
    const asked: DivisionRequest[] = [];
    const engine = engineThat(async (_owner, requests) => {
      asked.push(...requests);
      return { schedules: [{ kind: "known", shares: { a: 3 } }], isTidy: true };
    });
    const found = await askScheduler(engine, OWNER, [API, WEB], { kind: "known", names: ["a", "b"] }, async () => {});
    expect(asked).toEqual([{ workload: WORKLOAD, replicas: 3, isAggregated: false, clusters: ["a", "b"] }]);
    expect(found.divided.map(({ division }) => division)).toEqual([undefined, { kind: "known", shares: { a: 3 } }]);
    expect(found.isKnown).toBe(true);
  });

  it.each([
    [{ kind: "known", names: [] }, "no cluster is chosen"],
    [{ kind: "unknown", message: "the placement has no decision" }, "the placement has no decision"],
  ] as const)(
    "are not asked for while no cluster is known: no cluster would mean all of them",
    async (clusters, why) => {
      const engine = engineThat(() => Promise.reject(new Error("nothing is to be asked")));
      const found = await askScheduler(engine, OWNER, [WEB], clusters, async () => {});
      expect(found.divided[0]?.division).toEqual({ kind: "unknown", message: why });
      expect(found.isKnown).toBe(false);
    },
  );
});
