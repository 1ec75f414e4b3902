import { type App, drawnApp, type GivenApp, givenApp, type Protocol } from "./app.ts";
import { Dice } from "./dice.ts";
import { accidents, edits, type Happening } from "./happenings.ts";
import { withDeletedWorks, withLongAccident, withTwists } from "./twists.ts";

/** Everything that a seed decides beforehand. What depends on the moment is decided by the streams of its dice. */
export interface Scenario extends App {
  readonly seed: number;
  readonly standby: boolean;
  readonly happenings: readonly Happening[];
  readonly calmAtMs: number;
  readonly ending: "keeps running" | "Teardown" | "Release";
  /** Deleted while things still go wrong. */
  readonly deletedAtMs: number | undefined;
  /** The application runs already, dispatched by the engine itself. `differs`: not as the new object asks for it. */
  readonly adoption: { readonly differs: boolean } | undefined;
  /** Operators report the application's own members. */
  readonly listsMembers: boolean;
  /** The leading pod carries a label that says so. */
  readonly labelsLeader: boolean;
  /** The engine moves instances away from a cluster that is not Ready for long. */
  readonly engineFailsOver: boolean;
  /** In the end the controller is replaced by another version of itself. */
  readonly upgrades: boolean;
}

/** What a tier can do. */
export interface Abilities {
  /** Which operator it has instead of the one that was drawn. */
  readonly protocolFor: (drawn: Protocol) => Protocol;
  /** Instances of a broken revision never become ready. */
  readonly hasBrokenRevisions: boolean;
  /** Twists that it knows; undefined: all. */
  readonly twists: readonly string[] | undefined;
}

/** The first seeds draw larger worlds and longer stories; the many after them smaller ones, three to the price of two. */
export const LARGE_SEEDS = 600;
const UPGRADE_CHANCE = 0.3;

export function scenarioOf(seed: number, given: GivenApp | undefined, abilities: Abilities): Scenario {
  const dice = new Dice(seed).branch("scenario");
  const isLarge = seed <= LARGE_SEEDS;
  const app = given ? givenApp(given) : drawnApp(dice.branch("app"), abilities.protocolFor, isLarge);
  const faults = dice.branch("faults");
  const calmAtMs = 1000 * (isLarge ? faults.whole(70, 150) : faults.whole(45, 110));
  const happenings = [...accidents(faults, app.clusters, calmAtMs), ...edits(faults.branch("users"), app, calmAtMs)];
  if (!abilities.hasBrokenRevisions)
    for (const [index, each] of happenings.entries()) happenings[index] = withoutBroken(each);
  const ending = given ? "keeps running" : faults.pick(["keeps running", "Teardown", "Release"] as const);
  const early = ending !== "keeps running" && faults.chance(0.3);
  const plain: Scenario = {
    ...app,
    seed,
    spec: ending === "keeps running" ? app.spec : { ...app.spec, deletionPolicy: ending },
    standby: faults.chance(isLarge ? 0.5 : 0.2) || happenings.some(({ kind }) => kind === "pause leader"),
    happenings,
    calmAtMs,
    ending,
    deletedAtMs: early ? faults.whole(20_000, calmAtMs) : undefined,
    adoption: undefined,
    listsMembers: false,
    labelsLeader: false,
    engineFailsOver: false,
    upgrades: dice.branch("upgrade").chance(UPGRADE_CHANCE),
  };
  const twisted = withTwists(plain, dice.branch("twists"), abilities.twists, given !== undefined);
  const knowsAllTwists = given === undefined && abilities.twists === undefined;
  const scenario = knowsAllTwists
    ? withDeletedWorks(withLongAccident(twisted, dice.branch("long accident")), dice.branch("deleted work"))
    : twisted;
  return { ...scenario, happenings: [...scenario.happenings].sort((a, b) => a.atMs - b.atMs) };
}

function withoutBroken(happening: Happening): Happening {
  return happening.kind === "edit" ? { ...happening, image: happening.image.replace("-broken", "") } : happening;
}
