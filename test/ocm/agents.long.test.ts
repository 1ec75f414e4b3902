/**
 * Clusters that only their agents' reports show: one agent polls, one answers late, and a pod in the way of a rollback
 * cannot be deleted by reports.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MANAGED_CLUSTERS } from "../../src/engine/ocm/resources.ts";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import type { KubeObject } from "../../src/kube/index.ts";
import { PodRecorder, podImages, STATEFULSETS, type World } from "../stories/world.ts";
import { giveAccess } from "./fleet.ts";
import { startReportedWorld } from "./world.ts";

const NAME = "web";
/** Longer than a look that a write of ours prompts, so that only a watch or a poll shows the end of a step. */
const START_MS = 2_500;
/** Each shows some changes of member1's own. */
const UPDATES_MAX = 10;
const HANGS_MS = 12_000;
const RUNS_MS = 3_000;
/** Five answers to questions that are 15 s apart, each some seconds late. */
const NAMED_MS = 300_000;

let world: World;
let observer: Observer;
let version = 0;
const pods = new PodRecorder();

beforeAll(async () => {
  // An agent that may watch nothing polls, as one before OCM 1.2 does.
  world = await startReportedWorld({ agentFlags: { member1: ["--max-feedback-watch=0"] } });
  observer = await world.watch(STATEFULSETS);
  for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, NAME);
});
afterAll(async () => {
  await pods.stop();
  await world?.stop();
});

function workload(tag: string): KubeObject {
  const object = statefulSet(NAME, 5, `${NAME}:${tag}`);
  const annotations = { "lockstep.test/start-ms": String(START_MS) };
  const template = {
    metadata: { labels: { app: NAME }, annotations },
    spec: { containers: [{ name: "app", image: `${NAME}:${tag}` }] },
  };
  return { ...object, spec: { ...(object.spec as object), template } };
}

const images = async () => Object.values(await podImages(world, NAME)).flat();
const all = (tag: string) => async () => {
  const found = await images();
  return (found.length === 5 && found.every((pod) => pod.endsWith(` ${NAME}:${tag}`))) || found.join();
};

async function updated(): Promise<void> {
  const tag = String(++version);
  await world.stage.declare(world, NAME, workload(tag));
  await world.until(`all run version ${tag}`, all(tag), NAMED_MS);
  await world.until("it is settled", () => world.settled(NAME, 5), NAMED_MS);
}

/** What the status says about settings. */
async function conflicts(): Promise<string> {
  const { conditions = [] } = (await world.status(NAME)) as { conditions?: { type: string; message?: string }[] };
  return conditions.find(({ type }) => type === "SettingsConflict")?.message ?? "";
}

/** It hangs again and again while the other happens. */
async function whileHanging(name: string, act: () => Promise<void>): Promise<void> {
  const { processes } = world.stack;
  let isOver = false;
  const passed = (ms: number) => {
    const fromMs = performance.now();
    return world.until(`${ms} ms have passed`, () => isOver || performance.now() - fromMs > ms);
  };
  const hanging = async () => {
    while (!isOver) {
      processes.pause(name);
      await passed(HANGS_MS);
      processes.resume(name);
      await passed(RUNS_MS);
    }
  };
  const acting = act().finally(() => {
    isOver = true;
  });
  await Promise.all([hanging(), acting]);
}

describe("a StatefulSet in a cluster whose agent polls", () => {
  it("is deployed, and updated with one instance down at most; the status names the cluster, and no other", {
    timeout: 2 * NAMED_MS,
  }, async () => {
    await updated();
    const late = / cluster (\S+) reports changes seconds after they happen/g;
    let said = "";
    // On a machine with too much to do all agents answer late, which hides that one of them polls.
    for (let update = 1; update <= UPDATES_MAX && said.search(late) < 0; update++) {
      pods.expect(5, 3);
      await updated();
      expect({ worst: pods.worst, withoutQuorumMs: pods.withoutQuorumMs }).toEqual({ worst: 1, withoutQuorumMs: 0 });
      said = await conflicts();
    }
    expect(
      [...said.matchAll(late)].map(([, cluster]) => cluster),
      said,
    ).toEqual(["member1"]);
    expect(said).toContain("--max-feedback-watch");
  });
});

describe("and in a cluster whose agent answers late", () => {
  it("is updated with one instance down at most, and the status names this cluster, too", {
    timeout: 2 * NAMED_MS,
  }, async () => {
    // The hub is to take it for available meanwhile, as with the usual lease of a minute.
    const body = { spec: { leaseDurationSeconds: 60 } };
    await world.hub.patch(MANAGED_CLUSTERS, { name: "member3" }, { type: "merge", body });
    pods.expect(5, 3);
    await whileHanging("member3-agent", async () => {
      await updated();
      const named = /cluster member3 takes seconds to report a change/;
      await world.until(
        "it is named",
        async () => {
          const said = await conflicts();
          return named.test(said) || said;
        },
        NAMED_MS,
      );
    });
    expect({ worst: pods.worst, withoutQuorumMs: pods.withoutQuorumMs }).toEqual({ worst: 1, withoutQuorumMs: 0 });
  });
});

describe("and whose rollback meets a pod that blocks its own replacement", () => {
  it("says that Lockstep cannot delete the pod there, and continues when a Secret gives access", {
    timeout: 2 * NAMED_MS,
  }, async () => {
    const good = String(version);
    const rollingUpdate = { progressDeadlineSeconds: 5, onFailure: "Rollback" };
    await world.stage.declare(world, NAME, workload("broken"), {
      updateStrategy: { type: "RollingUpdate", rollingUpdate },
    });
    await world.until(
      "the status says so",
      async () => {
        const said = JSON.stringify({ ...(await world.status(NAME)), ledger: undefined });
        return /can only be deleted by its API server.*lockstep\.karmada\.io\/member-access/.test(said) || said;
      },
      NAMED_MS,
    );
    expect((await images()).filter((pod) => pod.endsWith("broken"))).toHaveLength(1);
    for (const [name, member] of world.stack.members) await giveAccess(world.stack, name, member);
    await world.until("all run the last good version", all(good), NAMED_MS);
    expect(pods.withoutQuorumMs).toBe(0);
  });
});

it("no member ever showed a spec that was not granted, in any of these", () => {
  expect(observer.violations()).toEqual([]);
  expect(observer.states).toBeGreaterThan(20);
});
