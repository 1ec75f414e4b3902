import type { EngineName } from "../lean/hub.ts";
import { type App, drawnApp, type GivenApp, givenApp, type Protocol } from "./app.ts";
import { Dice } from "./dice.ts";
import { accidents, edits, type Happening } from "./happenings.ts";
import { type OcmTraits, withAgents } from "./ocm.ts";
import { withDeletedWorks, withLongAccident, withReferences, withTwists } from "./twists.ts";

/** Everything that a seed decides in advance. What depends on the moment is decided by the streams of its dice. */
export interface Scenario extends App {
  readonly seed: number;
  readonly standby: boolean;
  readonly happenings: readonly Happening[];
  readonly calmAtMs: number;
  readonly ending: "keeps running" | "Teardown" | "Release";
  /** Deleted while faults still happen. */
  readonly deletedAtMs: number | undefined;
  /** The application already runs, dispatched by the engine itself. `differs`: not as the new object requests it. */
  readonly adoption: { readonly differs: boolean } | undefined;
  /** Operators report the application's own members. */
  readonly listsMembers: boolean;
  /** The leading pod has a label that shows it. */
  readonly labelsLeader: boolean;
  /** The engine moves instances away from a cluster that is not Ready for long. */
  readonly engineFailsOver: boolean;
  /** At the end the controller is replaced by another version of itself. */
  readonly upgrades: boolean;
  /** [I11] The controller treats a topology of more bytes than this as too large; undefined: as in production. */
  readonly topologyInlineBytes: number | undefined;
  /** How its clusters take part in Open Cluster Management; absent: the engine is Karmada. */
  readonly ocm?: OcmTraits;
}

/** What a tier supports. */
export interface Abilities {
  /** The operator that it uses instead of the drawn one. */
  readonly protocolFor: (drawn: Protocol) => Protocol;
  /** Instances of a broken revision never become ready. */
  readonly hasBrokenRevisions: boolean;
  /** Twists that it supports; undefined: all. */
  readonly twists: readonly string[] | undefined;
  /** Absent: Karmada. */
  readonly engine?: EngineName;
}

/**
 * The first seeds draw larger worlds and longer scenarios; the many after them smaller ones, three for the price of
 * two.
 */
export const LARGE_SEEDS = 600;
const UPGRADE_CHANCE = 0.3;
/**
 * One seed in this many lets edits settle first. In the others they count at once, which hits more steps in progress.
 */
const SEEDS_PER_SETTLING = 4;

export function scenarioOf(seed: number, given: GivenApp | undefined, abilities: Abilities): Scenario {
  const dice = new Dice(seed).branch("scenario");
  const isLarge = seed <= LARGE_SEEDS;
  const isInline = abilities.engine === "ocm";
  const app = given
    ? givenApp(given, isInline)
    : drawnApp(dice.branch("app"), abilities.protocolFor, isLarge, isInline);
  const faults = dice.branch("faults");
  const calmAtMs = 1000 * (isLarge ? faults.whole(70, 150) : faults.whole(45, 110));
  const happenings = [...accidents(faults, app.clusters, calmAtMs), ...edits(faults.branch("users"), app, calmAtMs)];
  if (!abilities.hasBrokenRevisions)
    for (const [index, each] of happenings.entries()) happenings[index] = withoutBroken(each);
  const ending = given ? "keeps running" : faults.pick(["keeps running", "Teardown", "Release"] as const);
  const settling = given || seed % SEEDS_PER_SETTLING === 0 ? {} : { revisionSettleSeconds: 0 };
  const spec = { ...app.spec, ...settling };
  const early = ending !== "keeps running" && faults.chance(0.3);
  const plain: Scenario = {
    ...app,
    seed,
    spec: ending === "keeps running" ? spec : { ...spec, deletionPolicy: ending },
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
    topologyInlineBytes: undefined,
  };
  const twisted = withTwists(plain, dice.branch("twists"), abilities.twists, given !== undefined);
  const knowsAllTwists = given === undefined && abilities.twists === undefined;
  const scenario = knowsAllTwists
    ? withReferences(
        withDeletedWorks(withLongAccident(twisted, dice.branch("long accident")), dice.branch("deleted work")),
        dice.branch("topology parts"),
      )
    : twisted;
  const met = isInline ? withAgents(scenario, dice.branch("agents")) : scenario;
  return { ...met, happenings: [...met.happenings].sort((a, b) => a.atMs - b.atMs) };
}

function withoutBroken(happening: Happening): Happening {
  return happening.kind === "edit" ? { ...happening, image: happening.image.replace("-broken", "") } : happening;
}
