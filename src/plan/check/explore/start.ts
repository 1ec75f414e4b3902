import { emptyLedger } from "../../ledger/ledger.ts";
import { plan } from "../../plan.ts";
import { NOTHING_LATE } from "./controller.ts";
import { allowedBy } from "./person.ts";
import { Rest } from "./rest.ts";
import type { Scenario } from "./scenario.ts";
import { type Live, type Member, NEW_MEMBER, NEW_PLACE, NO_FAULTS, type Place, type State } from "./state.ts";
import { Watch } from "./watch.ts";
import { World } from "./world.ts";

/** Any time will do. */
const BEGINNING_MS = 1_000_000_000;

/**
 * The application deployed and at rest, or nothing at all; without faults to come. How it was deployed is not in
 * question here, so even a mutant begins with a sound one.
 */
export function startOf(scenario: Scenario): State {
  const { intent, leader, start, leftBehind } = scenario;
  const empty: State = {
    nowMs: BEGINNING_MS,
    intent,
    ledger: emptyLedger(),
    places: Object.fromEntries(Object.keys(intent.fleet).map((cluster) => [cluster, placeWith(leftBehind[cluster])])),
    actions: [],
    finished: false,
    leader,
    app: scenario.listsMembers ? { members: [], expelled: [], seen: null } : null,
    late: NOTHING_LATE,
    edits: 0,
    faults: NO_FAULTS,
    maxUnavailable: allowedBy(intent),
    droppedWhileLost: [],
  };
  if (start === "empty") return empty;
  if (start === "adopted") return running(scenario, empty);
  const watch = new Watch(plan);
  return new Rest(scenario, new World(scenario, plan, watch), watch).calm(empty);
}

function placeWith(volumes: readonly number[] | undefined): Place {
  return volumes ? { ...NEW_PLACE, member: { ...NEW_MEMBER, volumes } } : NEW_PLACE;
}

/** Every cluster runs what its baseline says, and has never heard of Lockstep. */
function running({ intent }: Scenario, empty: State): State {
  const places: Record<string, Place> = { ...empty.places };
  for (const [index, [cluster, baseline]] of Object.entries(intent.baselines).entries()) {
    if (!baseline) continue;
    const { revision, replicas } = baseline;
    const ordinals = Array.from({ length: replicas }, (_, rank) => index * intent.identity.blockSize + rank);
    const live: Live = { revision, replicas, partition: 0, onDelete: false, processor: false, ordinals };
    const member: Member = {
      ...NEW_MEMBER,
      live,
      read: live,
      observed: true,
      status: { replicas, ready: replicas, updated: replicas, updateRevision: revision, currentRevision: revision },
      pods: ordinals.map((ordinal) => ({ ordinal, revision, phase: "ready", since: "same" })),
      volumes: ordinals,
      ran: Object.fromEntries(ordinals.map((ordinal) => [ordinal, revision])),
    };
    places[cluster] = { ...NEW_PLACE, member };
  }
  return { ...empty, places };
}
