import { describe, expect, it } from "vitest";
import { ANNOTATIONS } from "../../../contract/index.ts";
import type { Snapshot } from "../../../engine/index.ts";
import { bench, customization } from "../../../interpret/testing/interpreter.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { LeaderClaim, PresentObservation } from "../../../plan/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { type LeaderSource, observe, type ReadingContext } from "./observe.ts";

const INSTANCES: Readonly<Record<string, string>> = { "web-0": "member1", "web-100": "member2" };

function context(leader: LeaderSource = { report: true }): ReadingContext {
  return {
    interpreter: bench().interpreter,
    cluster: "member1",
    leader,
    clusterOfInstance: (name) => INSTANCES[name],
    isCluster: (name) => name === "member1" || name === "member2",
  };
}

function live(status: JsonObject = {}, annotations: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default", uid: "uid", generation: 4, annotations },
    spec: { replicas: 2 },
    status,
  };
}

const DONE = { observedGeneration: 4, replicas: 2, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 2 };

function seen(
  object: KubeObject,
  more: Partial<Extract<Snapshot, { kind: "present" }>> = {},
  leader?: LeaderSource,
): PresentObservation {
  const observation = observe({ kind: "present", object, source: "live", atMs: 7, ...more }, context(leader));
  if (observation.kind !== "present") throw new Error(observation.kind);
  return observation;
}

function pod(name: string, more: { labels?: Record<string, string>; deleting?: boolean; ready?: boolean } = {}) {
  const { labels = {}, deleting = false, ready = true } = more;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, uid: `uid-${name}`, labels, ...(deleting && { deletionTimestamp: "2025-01-01T00:00:00Z" }) },
    status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  };
}

describe("what is not there", () => {
  it("is observed as absent or unreachable, with the reason if there is one", () => {
    expect(observe({ kind: "absent", atMs: 5 }, context())).toEqual({ kind: "absent" });
    expect(observe({ kind: "unreachable", message: "timeout", sinceMs: 3 }, context())).toEqual({
      kind: "unreachable",
      message: "timeout",
      sinceMs: 3,
    });
    expect(observe({ kind: "unreachable", message: "no free stream", isBlind: true }, context())).toEqual({
      kind: "unreachable",
      message: "no free stream",
      isBlind: true,
    });
  });
});

describe("a kind whose count is not in spec.replicas", () => {
  const counted = (status: JsonObject) => {
    const { interpreter } = bench();
    const script = "function GetReplicas(obj)\n  return obj.spec.size, nil\nend";
    interpreter.setCustomizations([customization("stores", "example.io/v1/Store", { replicaResource: script })]);
    const object = { ...live(status), apiVersion: "example.io/v1", kind: "Store", spec: { size: 2 } };
    return observe({ kind: "present", object, source: "live", atMs: 7 }, { ...context(), interpreter });
  };

  it("is counted by its status and by where its interpretation says that its count is", () => {
    expect(counted(DONE)).toMatchObject({ live: { replicas: 2 }, counts: { ready: 2, updated: 2 }, health: "healthy" });
    expect(counted({ ...DONE, readyReplicas: 1 })).toMatchObject({ counts: { ready: 1 }, health: "unknown" });
  });

  it("has no counts where its status has none", () => {
    expect(counted({ observedGeneration: 4, phase: "Running" })).toMatchObject({ counts: {}, health: "unknown" });
  });
});

describe("a live object", () => {
  it("gives its counts, generations and health", () => {
    expect(seen(live(DONE))).toMatchObject({
      uid: "uid",
      generation: 4,
      observedGeneration: 4,
      counts: { replicas: 2, ready: 2, available: 2, updated: 2 },
      health: "healthy",
    });
  });

  it("without a status has no observedGeneration, and is not healthy", () => {
    const observation = seen(live());
    expect(observation.observedGeneration).toBeUndefined();
    expect(observation.health).not.toBe("healthy");
  });

  it("shows the grant it carries", () => {
    const annotations = {
      [ANNOTATIONS.epoch]: "12",
      [ANNOTATIONS.partition]: "1",
      [ANNOTATIONS.topologyVersion]: "3",
      [ANNOTATIONS.revision]: "web-abc",
      [ANNOTATIONS.processor]: "true",
      [ANNOTATIONS.transferLeaderTo]: "web-100",
    };
    expect(seen(live(DONE, annotations)).live).toEqual({
      epoch: 12,
      partition: 1,
      topologyVersion: 3,
      revision: "web-abc",
      processor: true,
      transferLeaderTo: "web-100",
      replicas: 2,
    });
  });

  it.each(["", "-1", "1.5", "1e3", " 7", "0x10", "12345678901234567890"])("with the epoch '%s' shows none", (epoch) => {
    expect(seen(live(DONE, { [ANNOTATIONS.epoch]: epoch })).live.epoch).toBeUndefined();
  });

  it("has a turn only where the annotation is exactly true or false", () => {
    expect(seen(live(DONE, { [ANNOTATIONS.processor]: "True" })).live.processor).toBeUndefined();
  });
});

describe("a reflected copy", () => {
  it("proves nothing: whatever it says of observedGeneration is not believed", () => {
    expect(seen(live(DONE), { source: "reflected" }).observedGeneration).toBeUndefined();
  });
});

describe("the values of one version of an object", () => {
  it("prove as much as the object itself: their observedGeneration is believed", () => {
    const proven = seen(live(DONE)).observedGeneration;
    expect(proven).toBeDefined();
    expect(seen(live(DONE), { source: "values" }).observedGeneration).toBe(proven);
  });
});

describe("pods", () => {
  it("are instances with the ordinal at the end of their name", () => {
    const status = { ...DONE, updateRevision: "r2" };
    const pods = [
      pod("web-0", { labels: { "controller-revision-hash": "r2" } }),
      pod("web-17", { labels: { "controller-revision-hash": "r1" }, ready: false }),
      pod("odd", { deleting: true }),
    ];
    const { instances, counts } = seen(live(status), { pods });
    expect(instances).toEqual([
      { name: "web-0", uid: "uid-web-0", ordinal: 0, updated: true, ready: true, terminating: false },
      { name: "web-17", uid: "uid-web-17", ordinal: 17, updated: false, ready: false, terminating: false },
      { name: "odd", uid: "uid-odd", ready: true, terminating: true },
    ]);
    expect(counts.terminating).toBe(1);
  });

  it("say themselves that they are evicted or lost with their node", () => {
    const evicted = pod("web-0", { deleting: true });
    evicted.status = { conditions: [{ type: "DisruptionTarget", status: "True" }] };
    const { instances } = seen(live(DONE), { pods: [evicted, pod("web-1")] });
    expect(instances?.map(({ disrupted }) => disrupted)).toEqual([true, undefined]);
  });

  it("that cannot be seen leave the terminating ones unknown, not zero", () => {
    const observation = seen(live(DONE));
    expect(observation.instances).toBeUndefined();
    expect(observation.counts.terminating).toBeUndefined();
  });
});

describe("the leader", () => {
  const claim = (object: KubeObject, leader?: LeaderSource, pods?: KubeObject[]): LeaderClaim =>
    seen(object, pods ? { pods } : {}, leader).leader;
  const report = (leader: JsonObject) =>
    live({
      ...DONE,
      crossCluster: { epoch: 1, revision: "r", phase: "Done", desired: 2, updated: 2, ready: 2, ...leader },
    });

  it("of a report is the instance it names; empty means elsewhere, nothing means unknown", () => {
    expect(claim(report({ leader: "web-0" }))).toEqual({ kind: "here", instance: "web-0" });
    expect(claim(report({ leader: "" }))).toEqual({ kind: "elsewhere" });
    expect(claim(report({}))).toEqual({ kind: "unknown" });
    expect(claim(live(DONE))).toEqual({ kind: "unknown" });
  });

  describe("by a field", () => {
    const fieldPath = { fieldPath: "status.leader" };
    it.each<[string | boolean, LeaderClaim]>([
      ["web-0", { kind: "here", instance: "web-0" }],
      ["web-100", { kind: "elsewhere" }],
      ["member1", { kind: "here" }],
      ["member2", { kind: "elsewhere" }],
      ["stranger", { kind: "unknown", said: "stranger" }],
      [true, { kind: "here" }],
      [false, { kind: "elsewhere" }],
    ])("that holds %j is found, elsewhere or unknown by it", (leader, expected) => {
      expect(claim(live({ ...DONE, leader }), fieldPath)).toEqual(expected);
    });

    it("that is missing leaves it unknown", () => {
      expect(claim(live(DONE), fieldPath)).toEqual({ kind: "unknown" });
    });
  });

  describe("by a pod's label", () => {
    const podLabel = { podLabel: { key: "role", value: "leader" } };
    const leading = (name: string, deleting = false) => pod(name, { labels: { role: "leader" }, deleting });

    it("is the one pod that carries it", () => {
      expect(claim(live(DONE), podLabel, [pod("web-0"), leading("web-1")])).toEqual({
        kind: "here",
        instance: "web-1",
      });
    });

    it("is elsewhere when none does, or only one that is going away", () => {
      expect(claim(live(DONE), podLabel, [pod("web-0")])).toEqual({ kind: "elsewhere" });
      expect(claim(live(DONE), podLabel, [leading("web-0", true)])).toEqual({ kind: "elsewhere" });
    });

    it("is unknown when two do, or when pods cannot be seen", () => {
      expect(claim(live(DONE), podLabel, [leading("web-0"), leading("web-1")])).toEqual({ kind: "unknown" });
      expect(claim(live(DONE), podLabel)).toEqual({ kind: "unknown" });
    });

    it("is unknown when some labels may not be known", () => {
      const more = { pods: [pod("web-0")], lacksLabels: true } as const;
      expect(seen(live(DONE), more, podLabel)).toMatchObject({ leader: { kind: "unknown" }, instances: [{}] });
    });
  });
});
