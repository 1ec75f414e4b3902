import {
  type ClusterEntry,
  type Grant,
  type HookFailure,
  hookEpoch,
  hooksOver,
  isRunning,
  kindOrder,
  type PlanResult,
  tierOf,
} from "../../applications/index.ts";
import {
  type Dispatched,
  type Engine,
  type EngineBundle,
  type ObjectRef,
  OWNER_LABEL,
  otherOwnerOf,
  SupersededError,
  TermOutOfRangeError,
} from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { Part } from "./content.ts";
import { identityOfRef, keyOfRef, withAgain, withEpoch } from "./manifest.ts";
import { DispatchedObjects, epochNote, isKept, NOTES } from "./notes.ts";
import type { Standing } from "./standing.ts";
import type { Way } from "./way.ts";

export interface ActContext {
  readonly engine: Engine;
  readonly owner: EngineBundle;
  readonly way: Way;
  readonly term: number;
  readonly adopt: boolean;
  readonly prune: boolean;
  /** Whether others use this object, such as a Namespace in which another application has objects. */
  readonly isShared: (cluster: string, ref: ObjectRef) => boolean;
  /** Throws unless this process still leads. */
  readonly confirm: () => Promise<void>;
  /** Whether the cluster has lost an object that was delivered: then it is sent again. */
  readonly isLost: (cluster: string, part: Part, dispatched: Dispatched) => boolean;
  /** Remembers that an object belongs to another owner; undefined: it does not. */
  readonly refuse: (cluster: string, key: string, message: string | undefined) => void;
  readonly standing: Standing;
}

export interface ActResult {
  readonly failures: ReadonlyArray<{ readonly cluster: string; readonly message: string }>;
  /** Something is going away, and is looked at again soon. */
  readonly unfinished: boolean;
}

/** Thrown when a cluster has the object from another owner. */
class OwnedByAnother extends Error {
  override readonly name = "OwnedByAnother";
}

/** Thrown when it is not known yet whether the cluster has an object of this name. */
class NotSeenYet extends Error {
  override readonly name = "NotSeenYet";
}

/** Carries out what the ledger says. One cluster's failure stops no other. */
export async function act(context: ActContext, { ledger, releases }: PlanResult): Promise<ActResult> {
  const failures: { cluster: string; message: string }[] = [];
  let unfinished = false;
  const one = async (cluster: string, entry: ClusterEntry) => {
    try {
      const isDone = releases.includes(cluster)
        ? await release(context, cluster)
        : await carryOut(context, cluster, entry);
      if (!isDone) unfinished = true;
    } catch (error) {
      if (error instanceof SupersededError || error instanceof TermOutOfRangeError) throw error;
      if (error instanceof OwnedByAnother || error instanceof NotSeenYet) unfinished = true;
      else failures.push({ cluster, message: error instanceof Error ? error.message : String(error) });
    }
  };
  await Promise.all(Object.entries(ledger.clusters).map(([cluster, entry]) => one(cluster, entry)));
  return { failures, unfinished };
}

/** As it is now. An application has many objects in many clusters: asked once for a stage, not for each object. */
function dispatchedIn({ engine, owner }: ActContext, cluster: string): DispatchedObjects {
  return new DispatchedObjects(engine.dispatched(owner).filter((one) => one.cluster === cluster));
}

async function release(context: ActContext, cluster: string): Promise<boolean> {
  const gone = await Promise.all(
    [...dispatchedIn(context, cluster).list].map((one) => context.engine.withdraw(context.owner, one, "keep")),
  );
  return gone.every(Boolean);
}

async function carryOut(context: ActContext, cluster: string, entry: ClusterEntry): Promise<boolean> {
  const { grant, hookFailure } = entry;
  if (!grant) return true;
  const { way } = context;
  const stages = way.stages(grant.revision, cluster, grant.mode) ?? [];
  let isDone = await handOver(context, cluster);
  for (const [index, stage] of stages.entries()) {
    if (index > grant.stage) break;
    if (stage.kind === "apply") {
      const parts = stage.objects.flatMap((key) => way.part(grant.revision, cluster, key) ?? []);
      isDone = (await apply(context, cluster, grant, parts)) && isDone;
    } else if (index < grant.stage) continue;
    else if (stage.kind === "hook") {
      const part = way.part(grant.revision, cluster, stage.object);
      const hasFailed = hookFailure?.step === grant.step && hookFailure.stage === index;
      if (part && !hasFailed)
        isDone = (await runHook(context, cluster, grant, part, hookEpoch(stage, grant))) && isDone;
    } else if (stage.kind === "prune") isDone = (await prune(context, cluster, grant)) && isDone;
    else isDone = (await remove(context, cluster, stage.tier)) && isDone;
  }
  return (await tidyHooks(context, cluster, grant, hookFailure)) && isDone;
}

/** Writes what is missing or different, in order. What is there as it should be is not touched. */
async function apply(context: ActContext, cluster: string, grant: Grant, parts: readonly Part[]): Promise<boolean> {
  const { way } = context;
  const found = dispatchedIn(context, cluster);
  const due = parts.filter((part) => {
    const one = found.of(part.ref);
    if (one?.deleting === true || (!one && part.isImplicit && context.standing.isRecent(cluster, part.key)))
      return false;
    return one?.notes[NOTES.content] !== way.digest(part, grant) || context.isLost(cluster, part, one);
  });
  const isEnding = parts.some(({ ref }) => found.of(ref)?.deleting === true);
  if (due.length === 0) return !isEnding;
  const takesOver = await reserve(context, cluster, due, found);
  const reserved = dispatchedIn(context, cluster);
  const own = due.filter((part) => takesOver.get(part.key) !== "theirs");
  for (const sameKind of byKind(own)) {
    await inTurns(sameKind, (part) => write(context, cluster, grant, part, reserved.of(part.ref), takesOver));
  }
  // No event says that something is used as it is found: the next look counts it.
  return !isEnding && own.length === due.length;
}

/** Objects of one kind do not need each other, so that they may be written together. They come in the order of kinds. */
function byKind(parts: readonly Part[]): Part[][] {
  const groups: Part[][] = [];
  for (const part of parts) {
    const last = groups.at(-1);
    if (last?.[0]?.object.kind === part.object.kind) last.push(part);
    else groups.push([part]);
  }
  return groups;
}

async function write(
  { engine, owner, way, term }: ActContext,
  cluster: string,
  grant: Grant,
  part: Part,
  expected: Dispatched | undefined,
  takesOver: Claims,
): Promise<void> {
  if (!expected) throw new Error(`${part.key} for ${cluster} was taken away while it was being dispatched`);
  const digest = way.digest(part, grant);
  const times = expected.notes[NOTES.content] === digest ? timesAgain(expected) + 1 : 0;
  const isAdopted = takesOver.get(part.key) === "adopted" || expected.notes[NOTES.end] === "keep";
  const ends = part.keep || part.isCrd || part.isImplicit || isAdopted;
  await engine.dispatch(owner, {
    cluster,
    term,
    manifest: withAgain(withEpoch(way.manifest(part, grant), grant.epoch), times),
    notes: {
      [NOTES.content]: digest,
      [NOTES.epoch]: String(grant.epoch),
      ...(times > 0 && { [NOTES.again]: String(times) }),
      ...(ends && { [NOTES.end]: "keep" }),
    },
    expected,
    takeOver: takesOver.has(part.key),
  });
}

/** Requests of one cluster's step at a time. */
const AT_A_TIME = 8;

/** A few at a time; the first failure ends it, when those under way have ended. */
async function inTurns<Item>(items: readonly Item[], each: (item: Item) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < items.length; at += AT_A_TIME) {
    const results = await Promise.allSettled(items.slice(at, at + AT_A_TIME).map(each));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
}

function timesAgain({ notes }: Dispatched): number {
  const times = Number(notes[NOTES.again] ?? 0);
  return Number.isSafeInteger(times) && times > 0 ? times : 0;
}

/**
 * `theirs`: it is used as it is found and never written, such as a target namespace that exists. `unseen`: nothing is
 * known about it yet. `unread`: the cluster could not be asked.
 */
type ClaimState = "free" | "ours" | "adopted" | "theirs" | "owned" | "unseen" | "unread";
type Claims = ReadonlyMap<string, "ours" | "adopted" | "theirs">;

/**
 * Takes the place of objects that are not dispatched yet, after a look at what the cluster has under their names: nothing
 * is written over an object that another owner has. Some clusters can be looked at only through a place that is taken.
 */
async function reserve(
  context: ActContext,
  cluster: string,
  parts: readonly Part[],
  found: DispatchedObjects,
): Promise<Claims> {
  const missing = parts.filter(({ ref }) => !found.of(ref));
  const undelivered = parts.filter(({ ref }) => found.of(ref)?.notes[NOTES.epoch] === undefined);
  const takesOver = new Map<string, "ours" | "adopted" | "theirs">();
  if (undelivered.length === 0) return takesOver;
  const counts = { owned: 0, unseen: 0, unread: 0 };
  await inTurns(undelivered, async (part) => {
    const claim = await claimOf(context, cluster, part);
    if (claim === "owned" || claim === "unseen" || claim === "unread") counts[claim]++;
    else if (claim !== "free") takesOver.set(part.key, claim);
  });
  if (counts.owned > 0) throw new OwnedByAnother(`${counts.owned} objects in ${cluster} belong to another owner`);
  if (counts.unread > 0) throw new NotSeenYet(`${cluster} could not be asked whether it has ${counts.unread} objects`);
  const own = missing.filter(({ key }) => takesOver.get(key) !== "theirs");
  for (const takeOver of [false, true]) {
    await takePlaces(
      context,
      cluster,
      own.filter(({ key }) => takesOver.has(key) === takeOver),
      takeOver,
    );
  }
  if (counts.unseen > 0)
    throw new NotSeenYet(`${cluster} has not reported yet whether it has ${counts.unseen} objects`);
  return takesOver;
}

async function takePlaces(
  { engine, owner, term, confirm }: ActContext,
  cluster: string,
  parts: readonly Part[],
  takeOver: boolean,
): Promise<void> {
  if (parts.length === 0) return;
  const refs = parts.map(({ ref }) => ref);
  const reserved = await engine.reserve(owner, refs, { cluster, term, takeOver });
  try {
    await confirm();
  } catch (error) {
    await Promise.allSettled(reserved.map((one) => engine.withdraw(owner, one, "keep")));
    throw error;
  }
}

async function claimOf(context: ActContext, cluster: string, part: Part): Promise<ClaimState> {
  const { engine, refuse, standing } = context;
  const found = await engine.member(cluster).read(part.ref);
  if (found.kind === "present") return claimOn(context, cluster, part, found.object);
  if (found.kind === "unknown" && found.isUnasked === true) {
    const seen = engine.snapshot(context.owner, cluster, part.ref);
    if (seen.kind === "unreachable" && seen.isForeign === true) return claimOn(context, cluster, part, undefined);
    // Of an earlier dispatch: if that was another application's, the agent refuses ours.
    if (seen.kind === "unreachable" && seen.isEarlier !== true) return "unseen";
  } else if (found.kind === "unknown" && found.isUnserved !== true) return "unread";
  // A kind that the cluster does not serve yet has no objects; delivery says so if it stays like that.
  refuse(cluster, part.key, undefined);
  standing.delete(cluster, part.key);
  return "free";
}

/** `object`: what the cluster has; undefined: something that Lockstep did not write. */
function claimOn(
  { engine, way, adopt, refuse, standing }: ActContext,
  cluster: string,
  part: Part,
  object: KubeObject | undefined,
): "ours" | "adopted" | "theirs" | "owned" | "unread" {
  const mark = object?.metadata.labels?.[OWNER_LABEL];
  const isGoing = object?.metadata.deletionTimestamp !== undefined;
  if (part.isImplicit && mark !== way.mark) {
    if (isGoing) return "unread";
    standing.add(cluster, part.key);
    return "theirs";
  }
  const isDelivered = mark !== undefined && engine.delivers(mark, cluster, part.ref);
  const problem = mark === way.mark ? undefined : refusalOf(part, object, isDelivered, adopt);
  refuse(cluster, part.key, problem);
  if (problem !== undefined) return "owned";
  // What is being deleted is no hook's run, and cannot become one.
  if (part.hook && isGoing) return "unread";
  return mark === way.mark ? "ours" : "adopted";
}

/** Why an object that this application did not write is not taken over; undefined: it is. */
function refusalOf(
  { object: { kind }, hook }: Part,
  found: KubeObject | undefined,
  /** Another object of Lockstep's delivers it now. A mark may be left of one that has let go of it. */
  isDelivered: boolean,
  adopt: boolean,
): string | undefined {
  if (isDelivered) return "it belongs to another application of Lockstep; remove it there first";
  if (!adopt) return "it exists and was not made by this application; delete it, or set adopt: true to take it over";
  const other = found && otherOwnerOf(found);
  if (other !== undefined) return `it is kept as it is by ${other}; remove it there first`;
  return hook && isRunning(kind) ? "a hook runs when it is created, and this one exists already; delete it" : undefined;
}

/** A hook runs once per step and event: what an earlier run left is deleted first. */
async function runHook(
  context: ActContext,
  cluster: string,
  grant: Grant,
  part: Part,
  epoch: number,
): Promise<boolean> {
  const { engine, owner } = context;
  const found = dispatchedIn(context, cluster);
  const before = found.of(part.ref);
  if (before && epochNote(before.notes) === epoch && !before.deleting) return true;
  if (before) {
    const isReserved = before.notes[NOTES.epoch] === undefined && !before.deleting;
    if (!isReserved) {
      await engine.withdraw(owner, before, isKept(before) ? "keep" : "remove");
      return false;
    }
  }
  const manifest = context.way.manifest(part, grant);
  const takesOver = await reserve(context, cluster, [part], found);
  const expected = dispatchedIn(context, cluster).of(part.ref);
  if (!expected) throw new Error(`hook ${part.key} for ${cluster} was taken away while it was being dispatched`);
  const claim = takesOver.get(part.key);
  // What an earlier run left without a dispatch object has ended already: it is dispatched only to be deleted.
  const isLeft = claim === "ours" && isRunning(part.object.kind);
  const run = isLeft ? 0 : epoch;
  await engine.dispatch(owner, {
    cluster,
    term: context.term,
    manifest: withEpoch(manifest, run),
    notes: {
      [NOTES.content]: context.way.digest(part, grant),
      [NOTES.epoch]: String(run),
      [NOTES.hook]: (part.hook?.deletePolicies ?? []).join(","),
      ...((part.isCrd || claim === "adopted") && { [NOTES.end]: "keep" }),
    },
    expected,
    takeOver: claim !== undefined,
  });
  return !isLeft;
}

/** Hooks are deleted as their policies say; the others stay until they run again, for people to look at. */
async function tidyHooks(
  context: ActContext,
  cluster: string,
  grant: Grant,
  failure: HookFailure | undefined,
): Promise<boolean> {
  const { way, engine, owner } = context;
  const stages = way.stages(grant.revision, cluster, grant.mode) ?? [];
  const found = dispatchedIn(context, cluster);
  const gone = [...hooksOver(stages, grant, failure)].map(async ([key, end]) => {
    const part = way.part(grant.revision, cluster, key);
    const one = part && found.of(part.ref);
    const policies = one?.notes[NOTES.hook]?.split(",") ?? [];
    if (!one || isKept(one) || !policies.includes(`hook-${end}`)) return true;
    return engine.withdraw(owner, one, "remove");
  });
  return (await Promise.all(gone)).every(Boolean);
}

/** A CrossClusterStatefulset takes a workload over as it runs. */
async function handOver(context: ActContext, cluster: string): Promise<boolean> {
  const managed = [...dispatchedIn(context, cluster).list].filter(({ ref }) => context.way.isManaged(ref));
  return managed.length === 0 || withdrawAll(context, managed, () => true);
}

/** What the revision no longer has. */
async function prune(context: ActContext, cluster: string, grant: Grant): Promise<boolean> {
  const parts = context.way.parts(grant.revision, cluster);
  if (!parts) return true;
  const own = new Set(parts.map(({ key }) => key));
  const surplus = [...dispatchedIn(context, cluster).list].filter(({ ref }) => !own.has(keyOfRef(ref)));
  // With another apiVersion it is the same object: only its earlier dispatch ends.
  const identities = new Set(parts.map(({ ref }) => identityOfRef(ref)));
  return withdrawAll(context, surplus, ({ ref }) => !context.prune || identities.has(identityOfRef(ref)));
}

async function remove(context: ActContext, cluster: string, tier: number): Promise<boolean> {
  const going = [...dispatchedIn(context, cluster).list].filter(({ ref }) => tierOf(ref.kind) >= tier);
  return withdrawAll(context, going, () => false);
}

async function withdrawAll(
  { engine, owner, way, isShared }: ActContext,
  list: readonly Dispatched[],
  keeps: (one: Dispatched) => boolean,
): Promise<boolean> {
  const order = [...list].sort((a, b) => kindOrder(b.ref, a.ref));
  const isLeft = (one: Dispatched) =>
    keeps(one) || isKept(one) || way.isManaged(one.ref) || isShared(one.cluster, one.ref);
  const gone = order.map((one) => engine.withdraw(owner, one, isLeft(one) ? "keep" : "remove"));
  return (await Promise.all(gone)).every(Boolean);
}
