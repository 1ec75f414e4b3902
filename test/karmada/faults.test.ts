/** A real Karmada of which parts fail in the middle of an update: never more down than allowed, no moment without quorum. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isLongForm } from "../form.ts";
import { SYSTEM_NAMESPACE } from "../stories/world.ts";
import { FEW, MORE } from "./faults/faults.ts";
import { type Rehearsal, startRehearsal } from "./faults/ground.ts";
import { type Mortal, mortal } from "./faults/mortal.ts";
import { type ControllerPod, startPod } from "./faults/pods.ts";
import { operationsStory } from "./operations.ts";

const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/lockstep-controller`;
const TIMEOUT_MS = 400_000;
/** A new leader writes a few times before it can grant anything; so each life is longer than the one before. */
const LONGER_BY = isLongForm ? 1 : 4;

describe("an update of five instances on a real Karmada, with at most one of them down", () => {
  let rehearsal: Rehearsal;
  beforeAll(async () => {
    rehearsal = await startRehearsal();
  });
  afterAll(() => rehearsal?.stop());

  const expectCalm = () => {
    const { pods, observer } = rehearsal;
    expect({ worst: pods.worst, withoutQuorumMs: pods.withoutQuorumMs }, pods.timeline.join("\n")).toEqual({
      worst: 1,
      withoutQuorumMs: 0,
    });
    expect(observer.violations()).toEqual([]);
  };

  /** Resolves to the controller's last write; undefined if it has nothing more to write. */
  const dieAfter = async (writes: number): Promise<string | undefined> => {
    const { world } = rehearsal;
    let doomed: Mortal | undefined;
    const abandon = world.startController((transport) => {
      doomed = mortal(transport, writes);
      return doomed.transport;
    });
    const stop = new AbortController();
    const done = world.until("it is done", async () => stop.signal.aborted || rehearsal.isDone(), TIMEOUT_MS / 2);
    const write = await Promise.race([doomed?.died, done.then(() => undefined)]);
    doomed?.kill();
    abandon();
    stop.abort();
    // The lease would expire after 15 s; nothing else is different when it is free at once.
    const body = { spec: { holderIdentity: "" } };
    await world.stack.hub.request("PATCH", LEASE, body, "application/merge-patch+json");
    return write;
  };

  it("continues when the controller dies after each of its writes", { timeout: TIMEOUT_MS }, async ({
    onTestFailed,
  }) => {
    const { world } = rehearsal;
    const last: string[] = [];
    onTestFailed(() => console.error(last.join("\n")));
    await rehearsal.update(async () => {
      await world.stopController();
      try {
        for (let writes = 1; (await rehearsal.isDone()) !== true; writes += LONGER_BY) {
          const write = await dieAfter(writes);
          if (write !== undefined) last.push(`${writes}: ${write}`);
        }
      } finally {
        // The tests that follow need one, whatever happened here.
        world.startController();
      }
    });
    expectCalm();
    expect(last.length).toBeGreaterThan(2);
  });

  const faults = isLongForm ? [...FEW, ...MORE] : FEW;
  it.each(faults.map((fault) => [fault.name, fault] as const))(
    "continues although %s",
    { timeout: TIMEOUT_MS },
    async (_name, fault) => {
      await rehearsal.updateUnder(fault);
      expectCalm();
    },
  );

  if (isLongForm) {
    describe("with two controllers in processes of their own", () => {
      let pods: [ControllerPod, ControllerPod];
      beforeAll(async () => {
        const { world } = rehearsal;
        await world.stopController();
        pods = [await startPod(world, "pod-a"), await startPod(world, "pod-b")];
        await world.until("both are ready", async () => (await pods[0].isReady()) && (await pods[1].isReady()));
      });
      afterAll(() => {
        for (const { name } of pods ?? []) rehearsal.world.stack.processes.kill(name);
        rehearsal.world.startController();
      });

      /** Which of them leads, and which one stands by. */
      const roles = async () => {
        const [a, b] = pods;
        const isFirst = await a.leads();
        expect(await b.leads()).toBe(!isFirst);
        return isFirst ? { leader: a, standby: b } : { leader: b, standby: a };
      };

      /** Does this to the leader in mid-update; resolves to the milliseconds from then on until `next` led. */
      const handOver = async (happen: (leader: string) => Promise<void>, next: "leader" | "standby") => {
        const { world } = rehearsal;
        const now = await roles();
        let tookMs = Number.POSITIVE_INFINITY;
        await rehearsal.updateUnder({
          name: "",
          lastsMs: 0,
          async begin() {
            await happen(now.leader.name);
            const beganMs = performance.now();
            await world.until(`the ${next} leads`, () => now[next].leads());
            tookMs = performance.now() - beganMs;
          },
          end: async () => {},
        });
        expectCalm();
        return { ...now, tookMs };
      };
      const processes = () => rehearsal.world.stack.processes;
      const bringBack = async (pod: ControllerPod) => {
        processes().restart(pod.name);
        await rehearsal.world.until("it is back", () => pod.isReady());
      };

      it("the other one leads within 5 s of a leader's SIGTERM, in mid-update", { timeout: TIMEOUT_MS }, async () => {
        const { leader, tookMs } = await handOver(async (name) => processes().kill(name, "SIGTERM"), "standby");
        expect(tookMs).toBeLessThan(5_000);
        await bringBack(leader);
      });

      it("a leader that is killed, and restarted in its pod, leads within 5 s of its start", {
        timeout: TIMEOUT_MS,
      }, async () => {
        const { leader } = await roles();
        const killAndRestart = async (name: string) => {
          await processes().end(name);
          processes().restart(name);
          await rehearsal.world.until("it has started", () => leader.answers());
        };
        expect((await handOver(killAndRestart, "leader")).tookMs).toBeLessThan(5_000);
      });

      it("the other one leads within the lease of a leader that is killed, in mid-update", {
        timeout: TIMEOUT_MS,
      }, async () => {
        const { leader, tookMs } = await handOver((name) => processes().end(name), "standby");
        expect(tookMs).toBeLessThan(20_000);
        await bringBack(leader);
      });

      it("a leader that was stopped for longer than its lease changes nothing when it continues", {
        timeout: TIMEOUT_MS,
      }, async () => {
        const { leader, standby } = await handOver(async (name) => processes().pause(name), "standby");
        processes().resume(leader.name);
        await rehearsal.update(async () => {});
        expectCalm();
        expect(await standby.leads()).toBe(true);
        await rehearsal.world.until("it stands by", async () => (await leader.isReady()) && !(await leader.leads()));
      });

      it("two controllers whose tokens are revoked continue with those that their kubeconfigs have then", {
        timeout: TIMEOUT_MS,
      }, async () => {
        await rehearsal.updateUnder({
          name: "",
          lastsMs: 0,
          async begin({ until }) {
            for (const pod of pods) await pod.revoke();
            const areReady = () => Promise.all(pods.map((pod) => pod.isReady()));
            await until("the hub refuses both", async () => !(await areReady()).includes(true));
          },
          async end({ until }) {
            for (const pod of pods) await pod.renew();
            for (const pod of pods) await until("it is ready, in the same process", () => pod.isReady());
          },
        });
        expectCalm();
      });
    });
  }

  describe("in the hands of an administrator", () => {
    operationsStory(() => rehearsal);
  });
});
