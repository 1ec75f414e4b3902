/** A real Karmada of which parts fail in the middle of an update: never more down than allowed, no moment without quorum. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isLongForm } from "../form.ts";
import { SYSTEM_NAMESPACE } from "../stories/world.ts";
import { FEW, MORE } from "./faults/faults.ts";
import { type Rehearsal, startRehearsal } from "./faults/ground.ts";
import { type Mortal, mortal } from "./faults/mortal.ts";

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
      for (let writes = 1; (await rehearsal.isDone()) !== true; writes += LONGER_BY) {
        const write = await dieAfter(writes);
        if (write !== undefined) last.push(`${writes}: ${write}`);
      }
      world.startController();
    });
    expectCalm();
    expect(last.length).toBeGreaterThan(2);
  });

  const faults = isLongForm ? [...FEW, ...MORE] : FEW;
  it.each(faults.map((fault) => [fault.name, fault] as const))(
    "continues although %s",
    { timeout: TIMEOUT_MS },
    async (_name, { happen }) => {
      await rehearsal.update(() => happen(rehearsal.world));
      expectCalm();
    },
  );
});
