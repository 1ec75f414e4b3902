import type { HttpRequest } from "../../runtime/index.ts";
import type { Dice } from "../seed/dice.ts";
import type { CrashPoint } from "../seed/happenings.ts";
import type { Reach } from "../seed/reach.ts";
import { type Fate, isConsequential, type Weather } from "./wire.ts";

/** The current faults, for all processes. */
export class Climate {
  flakyRate = 0;
  latencyMs = 0;
  lagMs = 0;
  /** Pending crashes: each at a given write, counted over all processes. */
  readonly crashes: { write: number; point: CrashPoint }[] = [];
  /** Writes at whose acknowledgement their sender stalls for a while. */
  readonly pauses: { write: number; forMs: number }[] = [];
  writes = 0;
  hubIsDown = false;
  hasStaleLists = false;

  get isFair(): boolean {
    const isClear = this.flakyRate === 0 && this.latencyMs === 0 && this.lagMs === 0;
    return isClear && !this.hubIsDown && !this.hasStaleLists;
  }

  /** No more faults. */
  calm(): void {
    this.flakyRate = 0;
    this.latencyMs = 0;
    this.lagMs = 0;
    this.crashes.length = 0;
    this.pauses.length = 0;
    this.hubIsDown = false;
    this.hasStaleLists = false;
  }
}

const REACHED: Partial<Record<Fate, string>> = {
  refused: "request lost",
  lost: "request lost",
  "answer lost": "answer lost",
  conflict: "conflict",
  overloaded: "overloaded",
  failed: "server error",
  "applied and failed": "server error",
  "crash before": "crash before a write",
  "crash after": "crash after a write",
  "crash acknowledged": "crash after an acknowledgement",
  "pause acknowledged": "a leader stalls after a write",
};

const LOST: readonly Fate[] = ["refused", "lost", "answer lost", "overloaded", "failed", "applied and failed"];

/** The faults of one process. */
export function weatherFor(climate: Climate, dice: Dice, reach: Reach): Weather {
  let pauseMs = 0;
  const fateOf = (request: HttpRequest): Fate => {
    if (climate.hubIsDown) return "refused";
    if (isConsequential(request)) {
      climate.writes++;
      const crash = climate.crashes.findIndex(({ write }) => write <= climate.writes);
      if (crash >= 0) return climate.crashes.splice(crash, 1)[0]?.point ?? "arrives";
      const pause = climate.pauses.findIndex(({ write }) => write <= climate.writes);
      if (pause >= 0) {
        pauseMs = climate.pauses.splice(pause, 1)[0]?.forMs ?? 0;
        return "pause acknowledged";
      }
    }
    if (climate.flakyRate === 0 || !dice.chance(climate.flakyRate)) return "arrives";
    if (request.method === "PUT" && dice.chance(0.3)) return "conflict";
    return dice.pick(LOST);
  };
  return {
    latencyMs: () => 0.5 + dice.next() * (4 + climate.latencyMs),
    watchLagMs: () => (climate.lagMs === 0 ? 0 : dice.next() * climate.lagMs),
    fate: (request) => {
      const fate = fateOf(request);
      const situation = REACHED[fate];
      if (situation) reach.count(situation);
      return fate;
    },
    outlivesItsSender: () => dice.chance(0.5),
    pauseMs: () => pauseMs,
    listsThePast: () => climate.hasStaleLists,
  };
}
