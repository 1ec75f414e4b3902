import type {
  ClusterEntry,
  ClusterName,
  FleetFact,
  Grant,
  Halt,
  Intent,
  LeaderMove,
  Ledger,
  MembershipEvidence,
  Observation,
  Presence,
  TimeMs,
} from "../../types/index.ts";
import { type Horizons, horizonsOf } from "./horizon.ts";
import { Pool, textOf } from "./pool.ts";
import type { Scenario } from "./scenario.ts";
import type { App, Dispatched, Live, Member, Place, Pod, Seen, State } from "./state.ts";

/** In a canonical state it is always this time. */
const NOW_MS = 1_000_000_000;
/** In a canonical state every cluster that was ever written to was last written to with this epoch. */
const EPOCH = 1_000;
/** In a canonical state the newest topology has this version. */
const VERSION = 1_000;

/** What has to be taken off a cluster's epochs and versions to make them canonical. */
interface Shift {
  readonly epoch: number;
  readonly version: number;
  /** How much later than NOW_MS it is. */
  readonly laterMs: number;
}

interface LedgerForm {
  readonly ledger: Ledger;
  readonly version: number;
  readonly epochs: Readonly<Record<ClusterName, number>>;
}

/**
 * States that differ in nothing that a rule looks at are one state. Epochs and topology versions are only compared, so
 * they count from the newest; times are only held against deadlines, so they are ages, up to the longest deadline; a
 * time that is only shown is none. Each part of a state (an entry of the ledger, a member, what was seen of it ...) is
 * kept once, so that a state is a short list of numbers. A test walks through states as they are and as they are here
 * side by side.
 */
export class Canon {
  readonly #horizons: Horizons;
  readonly #intents = new Pool<Intent>(intentText);
  readonly #entries = new Pool<ClusterEntry>(JSON.stringify);
  readonly #ledgers = new Pool<Ledger>((ledger) => this.#ledgerText(ledger));
  readonly #given = new Pool<Dispatched>(JSON.stringify);
  readonly #members = new Pool<Member>(memberText);
  readonly #seen = new Pool<Seen>(JSON.stringify);
  readonly #lists = new Pool<MembershipEvidence>(JSON.stringify);
  readonly #rest = new Map<string, number>();
  readonly #forms = new WeakMap<Ledger, LedgerForm>();

  constructor(scenario: Scenario) {
    this.#horizons = horizonsOf(scenario);
  }

  /** The canonical state of all those that are the same as this one. */
  state(raw: State): State {
    const laterMs = raw.nowMs - NOW_MS;
    const form = this.#ledgerForm(raw.ledger, laterMs);
    let places = raw.places;
    for (const cluster in raw.places) {
      const place = raw.places[cluster];
      if (!place) continue;
      const kept = this.#place(place, { epoch: form.epochs[cluster] ?? 0, version: form.version, laterMs });
      if (kept === place) continue;
      if (places === raw.places) places = { ...raw.places };
      (places as Record<ClusterName, Place>)[cluster] = kept;
    }
    const intent = this.#intents.keep(laterMs === 0 ? raw.intent : this.#intentLater(raw.intent, laterMs));
    const app = this.#app(raw.app, laterMs);
    const late = this.#late(raw.late, form, laterMs);
    if (
      laterMs === 0 &&
      form.ledger === raw.ledger &&
      places === raw.places &&
      intent === raw.intent &&
      app === raw.app &&
      late === raw.late
    )
      return raw;
    return { ...raw, nowMs: NOW_MS, intent, ledger: form.ledger, places, app, late };
  }

  /** Of a canonical state; no other has it. */
  key(state: State): string {
    const { intent, ledger, places } = state;
    const ids = [this.#intents.id(intent), this.#ledgers.id(ledger), this.#restId(state)];
    for (const cluster in places) {
      const place = places[cluster];
      if (!place) continue;
      const { given, member, seen } = place;
      ids.push(given ? this.#given.id(given) : 0, this.#members.id(member), seen ? this.#seen.id(seen) : 0);
    }
    for (const cluster in state.late) {
      const given = state.late[cluster];
      if (given) ids.push(cluster.charCodeAt(0), this.#given.id(given));
    }
    return textOf(ids);
  }

  /** Of all that a planner is given in a canonical state. */
  planKey({ intent, ledger, places, app }: State): string {
    const ids = [this.#intents.id(intent), this.#ledgers.id(ledger), app?.seen ? this.#lists.id(app.seen) : 0];
    for (const cluster in places) {
      const seen = places[cluster]?.seen;
      ids.push(seen ? this.#seen.id(seen) : 0);
    }
    return textOf(ids);
  }

  /** The one object for all looks that show the same. */
  keepSeen(seen: Seen): Seen {
    return this.#seen.has(seen) ? seen : this.#seen.keep(shiftedSeen(seen, NO_SHIFT));
  }

  /** The one object for all members that are the same. */
  keepMember(member: Member): Member {
    return this.#members.keep(member);
  }

  #restId({ edits, leader, app, finished, maxUnavailable, droppedWhileLost, actions, faults }: State): number {
    const spent = Object.values(faults).join(",");
    const acts = actions.length === 0 ? "" : JSON.stringify(actions);
    const list = app ? `${app.members}/${app.expelled}/${app.seen ? this.#lists.id(app.seen) : 0}` : "";
    const text = `${edits} ${leader} ${list} ${finished} ${maxUnavailable} ${droppedWhileLost} ${spent} ${acts}`;
    const known = this.#rest.get(text);
    if (known !== undefined) return known;
    this.#rest.set(text, this.#rest.size + 1);
    return this.#rest.size;
  }

  #app(app: App | null, laterMs: number): App | null {
    if (!app?.seen || (laterMs === 0 && this.#lists.has(app.seen))) return app;
    const { members, atMs } = app.seen;
    return { ...app, seen: this.#lists.keep({ members, atMs: atMs - laterMs }) };
  }

  #late(late: State["late"], { epochs, version }: LedgerForm, laterMs: number): State["late"] {
    let kept = late;
    for (const [cluster, given] of Object.entries(late)) {
      const next = this.#given.keep(shiftedGiven(given, { epoch: epochs[cluster] ?? 0, version, laterMs }));
      if (next !== given) kept = { ...kept, [cluster]: next };
    }
    return kept;
  }

  #place(place: Place, shift: Shift): Place {
    const { given, member, seen } = place;
    const moved = shift.epoch !== 0 || shift.version !== 0 || shift.laterMs !== 0;
    const nextGiven =
      given && (moved || !this.#given.has(given) ? this.#given.keep(shiftedGiven(given, shift)) : given);
    const nextMember = this.#members.keep(moved ? shiftedMember(member, shift) : member);
    const nextSeen = seen && (moved || !this.#seen.has(seen) ? this.#seen.keep(shiftedSeen(seen, shift)) : seen);
    if (nextGiven === given && nextMember === member && nextSeen === seen) return place;
    return { given: nextGiven, member: nextMember, seen: nextSeen };
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Ledgers.

  #ledgerForm(raw: Ledger, laterMs: number): LedgerForm {
    const known = laterMs === 0 ? this.#forms.get(raw) : undefined;
    if (known) return known;
    const version = raw.topologyVersion === 0 ? 0 : raw.topologyVersion - VERSION;
    const clusters: Record<ClusterName, ClusterEntry> = {};
    const epochs: Record<ClusterName, number> = {};
    for (const [cluster, entry] of Object.entries(raw.clusters)) {
      const epoch = entry.epoch === 0 ? 0 : entry.epoch - EPOCH;
      epochs[cluster] = epoch;
      const kept = laterMs === 0 && epoch === 0 && version === 0 && this.#entries.has(entry);
      clusters[cluster] = kept ? entry : this.#entries.keep(this.#entryForm(entry, { epoch, version, laterMs }));
    }
    const { rollout, halt } = raw;
    const ago = (timeMs: number | null, horizonMs: number) => clamped(timeMs, laterMs, horizonMs);
    const ledger = this.#ledgers.keep({
      ...raw,
      clusters,
      topologyVersion: raw.topologyVersion - version,
      topologies:
        version === 0
          ? raw.topologies
          : Object.fromEntries(Object.entries(raw.topologies).map(([each, shape]) => [Number(each) - version, shape])),
      rollout: rollout && {
        ...rollout,
        sinceMs: NOW_MS,
        soakSinceMs: ago(rollout.soakSinceMs, this.#horizons.soak),
        leaderUnknownSinceMs: ago(rollout.leaderUnknownSinceMs, this.#horizons.leaderUnknown),
      },
      halt: timelessHalt(halt),
      // No rule reads it. It holds what the rest of the ledger shows, so that a plan adds nothing to it.
      history: leastHistory(raw),
      leaderRequest: this.#moveForm(raw.leaderRequest, laterMs),
      leaderEvacuation: this.#moveForm(raw.leaderEvacuation, laterMs),
    });
    const form = { ledger, version, epochs };
    if (laterMs === 0) this.#forms.set(raw, form);
    return form;
  }

  /** How long it has been so counts only while it waits to begin. */
  #moveForm(move: LeaderMove | null, laterMs: number): LeaderMove | null {
    if (!move) return null;
    const waits = move.state === "waiting";
    return { ...move, sinceMs: waits ? (clamped(move.sinceMs, laterMs, this.#horizons.leaderRequest) ?? 0) : NOW_MS };
  }

  #entryForm(entry: ClusterEntry, shift: Shift): ClusterEntry {
    const { written, acked, open, reasserted, away, stepSince, progress } = this.#horizons;
    const ago = (timeMs: number | null, horizonMs: number) => clamped(timeMs, shift.laterMs, horizonMs);
    const { grant, step } = entry;
    return {
      ...entry,
      epoch: entry.epoch - shift.epoch,
      grant: grant && shiftedGrant(grant, shift),
      writtenAtMs: entry.epoch === 0 ? 0 : (ago(entry.writtenAtMs, written) ?? 0),
      ackedAtMs: ago(entry.ackedAtMs, acked),
      openSinceMs: ago(entry.openSinceMs, open),
      reassertedAtMs: ago(entry.reassertedAtMs, reasserted),
      presence: presenceForm(entry.presence, (ms, horizon) => ago(ms, horizon) ?? 0, away),
      step: step && {
        ...step,
        sinceMs: ago(step.sinceMs, stepSince) ?? 0,
        progressMs: ago(step.progressMs, progress) ?? 0,
      },
    };
  }

  #ledgerText(ledger: Ledger): string {
    const { clusters, topologies, rollout, halt, override, retired, replacements } = ledger;
    const moves = [ledger.leaderRequest, ledger.leaderEvacuation];
    const entries = Object.entries(clusters).map(([cluster, entry]) => `${cluster}${this.#entries.id(entry)}`);
    const { identity, nextIndex, nextOrdinal, topologyVersion, currentRevision, undoHeard } = ledger;
    const few = [identity === null, nextIndex, nextOrdinal, topologyVersion, currentRevision, undoHeard];
    return `${entries}|${few}|${JSON.stringify([topologies, rollout, halt, override, retired, replacements, moves])}`;
  }

  #intentLater(intent: Intent, laterMs: number): Intent {
    const fleet: Record<ClusterName, FleetFact> = {};
    for (const [cluster, fact] of Object.entries(intent.fleet)) {
      const sinceMs = fact.state === "Ready" ? undefined : fact.sinceMs;
      const since = sinceMs === undefined ? undefined : clamped(sinceMs, laterMs, this.#horizons.away);
      fleet[cluster] = since === undefined || since === null ? fact : ({ ...fact, sinceMs: since } as FleetFact);
    }
    return { ...intent, fleet };
  }
}

const NO_SHIFT: Shift = { epoch: 0, version: 0, laterMs: 0 };

/** The time as if it were now NOW_MS, and no longer ago than its horizon. */
function clamped(timeMs: number | null, laterMs: number, horizonMs: number): number | null {
  return timeMs === null ? null : Math.max(timeMs - laterMs, NOW_MS - horizonMs);
}

function leastHistory({ clusters, currentRevision }: Ledger): Ledger["history"] {
  const granted = Object.values(clusters).flatMap(({ grant }) => (grant ? [grant.revision] : []));
  const reached = [...new Set(granted)].sort();
  return { reached, completed: currentRevision === null ? [] : [currentRevision] };
}

/** When and with what words is only shown. */
function timelessHalt(halt: Halt | null): Halt | null {
  return halt && { ...halt, message: halt.code, sinceMs: NOW_MS };
}

function shiftedGrant(grant: Grant, { epoch, version }: Shift): Grant {
  if (epoch === 0 && version === 0) return grant;
  return { ...grant, epoch: grant.epoch - epoch, topologyVersion: grant.topologyVersion - version };
}

function shiftedGiven({ grant, ordinals, found }: Dispatched, shift: Shift): Dispatched {
  const moved = shiftedGrant(grant, shift);
  return {
    grant: moved,
    ordinals,
    found: found && {
      ...found,
      grant: moved,
      writtenAtMs: found.writtenAtMs - shift.laterMs,
      halt: timelessHalt(found.halt),
    },
  };
}

function shiftedLive(live: Live | null, { epoch, version }: Shift): Live | null {
  if (!live || (epoch === 0 && version === 0)) return live;
  return {
    ...live,
    ...(live.epoch === undefined ? {} : { epoch: live.epoch - epoch }),
    ...(live.topologyVersion === undefined ? {} : { topologyVersion: live.topologyVersion - version }),
  };
}

function shiftedMember(member: Member, shift: Shift): Member {
  const { live, read, applied, report } = member;
  const moved = shiftedLive(live, shift);
  return {
    ...member,
    live: moved,
    read: read === live ? moved : shiftedLive(read, shift),
    applied: applied === null ? null : applied - shift.epoch,
    report: report && { ...report, epoch: report.epoch - shift.epoch },
  };
}

function shiftedSeen(seen: Seen, shift: Shift): Seen {
  return { ...seen, observation: shiftedObservation(seen.observation, shift) };
}

function shiftedObservation(seen: Observation, { epoch, version }: Shift): Observation {
  if (seen.kind !== "present") return seen;
  const { live, report } = seen;
  return {
    ...seen,
    live: {
      ...live,
      ...(live.epoch === undefined ? {} : { epoch: live.epoch - epoch }),
      ...(live.topologyVersion === undefined ? {} : { topologyVersion: live.topologyVersion - version }),
    },
    ...(report ? { report: { ...report, epoch: report.epoch - epoch } } : {}),
  };
}

function intentText({ fleet, ...settings }: Intent): string {
  return JSON.stringify([settings, fleet]);
}

function liveText(live: Live | null): string {
  if (!live) return "-";
  const { epoch, revision, replicas, partition, onDelete, processor, topologyVersion, transferLeaderTo, foreign } =
    live;
  return (
    `${epoch}/${revision}/${replicas}/${partition}/${onDelete}/${processor}/` +
    `${topologyVersion}/${transferLeaderTo}/${live.ordinals}/${foreign}`
  );
}

function podText({ ordinal, revision, phase, since, evicted }: Pod): string {
  return `${ordinal}${revision}${phase}${since}${evicted}`;
}

function memberText(member: Member): string {
  const { live, read, applied, observed, status, report, pods, volumes, ownDown, ran, cut, mute, givenUp, failing } =
    member;
  const counted = status
    ? `${status.replicas}/${status.ready}/${status.updated}/${status.updateRevision}/${status.currentRevision}`
    : "-";
  const said = report
    ? `${report.epoch}/${report.revision}/${report.phase}/${report.desired}/${report.updated}/${report.ready}`
    : "-";
  return (
    `${liveText(live)} ${read === live ? "=" : liveText(read)} ${applied} ${observed} ` +
    `${counted} ${said} ${pods.map(podText)} ${volumes} ${Object.entries(ownDown)} ` +
    `${Object.entries(ran)} ${cut} ${mute} ${givenUp} ${failing}`
  );
}

function presenceForm(presence: Presence, ago: (ms: TimeMs, horizon: number) => TimeMs, away: number): Presence {
  if (presence.kind === "here") return presence;
  const sinceMs = ago(presence.sinceMs, away);
  return presence.kind === "lost" ? { kind: "lost", sinceMs, atMs: ago(presence.atMs, 0) } : { ...presence, sinceMs };
}
