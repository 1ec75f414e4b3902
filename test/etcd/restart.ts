/** A rolling restart that a scenario disturbs. */
import { CALM, type Stage } from "../availability/stage.ts";

const RESTARTED = "--snapshot-count=7777";

export function restart({ world }: Stage): Promise<void> {
  return world.template({ version: "3.6", args: [...CALM, RESTARTED] });
}

export function restarted({ world }: Stage): Promise<void> {
  return world.settled(5, () => world.runsEverywhere(RESTARTED));
}

export function firstRestarted({ world }: Stage): Promise<void> {
  return world.until("the first is restarted", () =>
    world.instances().some(({ pod }) => JSON.stringify(pod.spec).includes(RESTARTED)),
  );
}
