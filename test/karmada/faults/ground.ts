/** An application of five instances on a real Karmada, one of whose members is in pull mode, updated under faults, with observers of every moment. */
import { setTimeout as sleep } from "node:timers/promises";
import { statefulSet } from "../../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../../src/engine/testing/observer.ts";
import { PodRecorder, podImages, STATEFULSETS } from "../../stories/world.ts";
import { type KarmadaWorld, startWorld } from "../world.ts";
import type { Fault } from "./faults.ts";

const INSTANCES = 5;
const QUORUM = 3;
const KUBELETS = "simulated-kubelets";
/** Karmada's retries back off, so the last of them comes late after a long fault. */
const RECOVERY_MS = 150_000;

export interface Rehearsal {
  readonly world: KarmadaWorld;
  readonly pods: PodRecorder;
  readonly observer: Observer;
  /** Updates to the next image, and calls `meanwhile` when the first instance runs it. Resolves when all is settled. */
  update(meanwhile: () => Promise<void>): Promise<void>;
  /**
   * Updates to the next image, with a fault that begins while the first instance is down and cannot come back, so it is
   * always in mid-update, and ends some time after the instance was let back. Resolves when all is settled.
   */
  updateUnder(fault: Fault): Promise<void>;
  /** Whether all run the image of the last update, and it is settled; otherwise what is missing. */
  isDone(): Promise<true | string>;
  stop(): Promise<void>;
}

export async function startRehearsal(): Promise<Rehearsal> {
  const world = await startWorld({ pulled: ["member2"] });
  const observer = await world.watch(STATEFULSETS);
  const pods = new PodRecorder();
  for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, "web");
  let version = 1;
  const declare = () => world.stage.declare(world, "web", statefulSet("web", INSTANCES, `web:${version}`));
  const settled = () => world.settled("web", INSTANCES);
  const images = async () => Object.values(await podImages(world, "web")).flat();
  const isNew = (pod: string) => pod.endsWith(`web:${version}`);
  const isDone = async () => {
    const found = await images();
    return found.length === INSTANCES && found.every(isNew) ? settled() : found.join();
  };
  await declare();
  await world.until("all instances are ready", settled);
  return {
    world,
    pods,
    observer,
    async update(meanwhile) {
      version += 1;
      pods.expect(INSTANCES, QUORUM);
      await declare();
      await world.until("the update has begun", async () => (await images()).some(isNew));
      await meanwhile();
      await world.until("all run the new image, and it is settled", isDone, RECOVERY_MS);
    },
    async updateUnder(fault) {
      await world.until("the last update is done", isDone, RECOVERY_MS);
      version += 1;
      pods.expect(INSTANCES, QUORUM);
      const { processes } = world.stack;
      // Nothing starts or ends without kubelets, so the update cannot get past its first instance.
      processes.pause(KUBELETS);
      try {
        await declare();
        await world.until("the first instance is down", () => pods.worst === 1);
        await fault.begin(world);
        processes.resume(KUBELETS);
        await sleep(fault.lastsMs);
      } finally {
        processes.resume(KUBELETS);
        await fault.end(world);
      }
      await world.until("all run the new image, and it is settled", isDone, RECOVERY_MS);
    },
    isDone,
    async stop() {
      await pods.stop();
      await world.stop();
    },
  };
}
