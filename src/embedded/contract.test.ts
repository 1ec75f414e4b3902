import { KarmadaEngine } from "../engine/index.ts";
import { engineContract } from "../engine/testing/contract/index.ts";
import { seededRandom } from "../runtime/index.ts";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { EmbeddedFleet } from "./index.ts";

const MEMBERS = ["member1", "member2", "member3"];
/** Virtual time: far more than any scenario needs, and it costs nothing. */
const GIVE_UP_MS = 600_000;

engineContract("embedded", async () => {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const fleet = new EmbeddedFleet({ clock, random, timings: { podStartMs: 100, podStopMs: 50 } });
  await fleet.start();
  // Time must also advance while a test awaits something without a deadline (a write that is retried).
  let running = true;
  const ticking = (async () => {
    while (running) if (!(await clock.step())) await clock.settle();
  })();
  return {
    hub: fleet.client(),
    members: new Map(MEMBERS.map((name) => [name, fleet.client(name)])),
    clock,
    engine: () => new KarmadaEngine({ hub: fleet.client(), clock, random }),
    cut: async (member) => fleet.cut(member),
    mend: async (member) => fleet.mend(member),
    async until(what, condition) {
      const deadlineMs = clock.monotonicMs() + GIVE_UP_MS;
      while (clock.monotonicMs() < deadlineMs) {
        if (await condition()) return;
        await clock.settle();
      }
      throw new Error(`after ${GIVE_UP_MS} ms of virtual time still not: ${what}`);
    },
    async stop() {
      await fleet.stop();
      running = false;
      await ticking;
    },
  };
});
