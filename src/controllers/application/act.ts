import { type ClusterEntry, type Grant, kindOrder, type PlanResult, tierOf } from "../../applications/index.ts";
import {
  type Dispatched,
  type Engine,
  type EngineBundle,
  OWNER_LABEL,
  SupersededError,
  TermOutOfRangeError,
} from "../../engine/index.ts";
import type { Part } from "./content.ts";
import { digestOf, withAgain, withEpoch } from "./manifest.ts";
import { epochNote, isKept, isSameRef, NOTES } from "./notes.ts";
import type { Way } from "./way.ts";

export interface ActContext {
  readonly engine: Engine;
  readonly owner: EngineBundle;
  readonly way: Way;
  readonly term: number;
  readonly adopt: boolean;
  readonly prune: boolean;
  /** Throws unless this process still leads. */
  readonly confirm: () => Promise<void>;
  /** Whether the cluster has lost an object that was delivered: then it is sent again. */
  readonly isLost: (cluster: string, part: Part, dispatched: Dispatched) => boolean;
  /** Remembers that an object belongs to another owner; undefined: it does not. */
  readonly refuse: (cluster: string, key: string, message: string | undefined) => void;
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
      if (error instanceof OwnedByAnother) unfinished = true;
      else failures.push({ cluster, message: error instanceof Error ? error.message : String(error) });
    }
  };
  await Promise.all(Object.entries(ledger.clusters).map(([cluster, entry]) => one(cluster, entry)));
  return { failures, unfinished };
}

function dispatchedIn({ engine, owner }: ActContext, cluster: string): Dispatched[] {
  return engine.dispatched(owner).filter((one) => one.cluster === cluster);
}

async function release(context: ActContext, cluster: string): Promise<boolean> {
  const gone = await Promise.all(
    dispatchedIn(context, cluster).map((one) => context.engine.withdraw(context.owner, one, "keep")),
  );
  return gone.every(Boolean);
}

async function carryOut(context: ActContext, cluster: string, { grant }: ClusterEntry): Promise<boolean> {
  if (!grant) return true;
  const { way } = context;
  const stages = way.stages(grant.revision, cluster, grant.mode) ?? [];
  let isDone = true;
  for (const [index, stage] of stages.entries()) {
    if (index > grant.stage) break;
    if (stage.kind === "apply") {
      const parts = stage.objects.flatMap((key) => way.part(grant.revision, cluster, key) ?? []);
      isDone = (await apply(context, cluster, grant, parts)) && isDone;
    } else if (index < grant.stage) continue;
    else if (stage.kind === "hook") {
      const part = way.part(grant.revision, cluster, stage.object);
      if (part) isDone = (await runHook(context, cluster, grant, part)) && isDone;
    } else if (stage.kind === "prune") isDone = (await prune(context, cluster, grant)) && isDone;
    else isDone = (await remove(context, cluster, stage.tier)) && isDone;
  }
  return (await tidyHooks(context, cluster, grant)) && isDone;
}

/** Writes what is missing or different, in order. What is there as it should be is not touched. */
async function apply(context: ActContext, cluster: string, grant: Grant, parts: readonly Part[]): Promise<boolean> {
  const { engine, owner, way, term } = context;
  const wanted = parts.map((part) => ({ part, manifest: way.manifest(part, grant) }));
  const found = dispatchedIn(context, cluster);
  const due = wanted.filter(({ part, manifest }) => {
    const one = found.find(({ ref }) => isSameRef(ref, part.ref));
    if (one?.deleting === true) return false;
    return one?.notes[NOTES.content] !== digestOf(manifest) || context.isLost(cluster, part, one);
  });
  const isEnding = wanted.some(({ part }) => found.some(({ ref, deleting }) => deleting && isSameRef(ref, part.ref)));
  if (due.length === 0) return !isEnding;
  const takesOver = await reserve(
    context,
    cluster,
    due.map(({ part }) => part),
  );
  for (const { part, manifest } of due) {
    const expected = dispatchedIn(context, cluster).find(({ ref }) => isSameRef(ref, part.ref));
    if (!expected) throw new Error(`${part.key} for ${cluster} was taken away while it was being dispatched`);
    const times = expected.notes[NOTES.content] === digestOf(manifest) ? timesAgain(expected) + 1 : 0;
    const isAdopted = takesOver.get(part.key) === "adopted" || expected.notes[NOTES.end] === "keep";
    const ends = part.keep || part.isCrd || part.isImplicit || isAdopted;
    await engine.dispatch(owner, {
      cluster,
      term,
      manifest: withAgain(withEpoch(manifest, grant.epoch), times),
      notes: {
        [NOTES.content]: digestOf(manifest),
        [NOTES.epoch]: String(grant.epoch),
        ...(times > 0 && { [NOTES.again]: String(times) }),
        ...(ends && { [NOTES.end]: "keep" }),
      },
      expected,
      takeOver: takesOver.has(part.key),
    });
  }
  return !isEnding;
}

function timesAgain({ notes }: Dispatched): number {
  const times = Number(notes[NOTES.again] ?? 0);
  return Number.isSafeInteger(times) && times > 0 ? times : 0;
}

/**
 * Takes the place of objects that are not dispatched yet, after a look at what the cluster has under their names: nothing
 * is written over an object that another owner has.
 */
async function reserve(
  context: ActContext,
  cluster: string,
  parts: readonly Part[],
): Promise<ReadonlyMap<string, "ours" | "adopted">> {
  const { engine, owner, term, confirm } = context;
  const found = dispatchedIn(context, cluster);
  const missing = parts.filter((part) => !found.some(({ ref }) => isSameRef(ref, part.ref)));
  const takesOver = new Map<string, "ours" | "adopted">();
  if (missing.length === 0) return takesOver;
  let owned = 0;
  for (const part of missing) {
    const claim = await claimOf(context, cluster, part);
    if (claim === "owned") owned++;
    else if (claim !== "free") takesOver.set(part.key, claim);
  }
  if (owned > 0) throw new OwnedByAnother(`${owned} objects in ${cluster} belong to another owner`);
  for (const takeOver of [false, true]) {
    const refs = missing.filter(({ key }) => takesOver.has(key) === takeOver).map(({ ref }) => ref);
    if (refs.length === 0) continue;
    const reserved = await engine.reserve(owner, refs, { cluster, term, takeOver });
    try {
      await confirm();
    } catch (error) {
      await Promise.allSettled(reserved.map((one) => engine.withdraw(owner, one, "keep")));
      throw error;
    }
  }
  return takesOver;
}

async function claimOf(
  context: ActContext,
  cluster: string,
  part: Part,
): Promise<"free" | "ours" | "adopted" | "owned"> {
  const { engine, way, adopt, refuse } = context;
  const found = await engine.member(cluster).read(part.ref);
  // A kind that the cluster does not serve yet has no objects; delivery says so if it stays like that.
  if (found.kind !== "present") {
    refuse(cluster, part.key, undefined);
    return "free";
  }
  const mark = found.object.metadata.labels?.[OWNER_LABEL];
  const isOwned = mark !== undefined && mark !== way.mark;
  const isAllowed = mark === way.mark || part.isImplicit || (adopt && !isOwned);
  if (isAllowed) {
    refuse(cluster, part.key, undefined);
    return mark === way.mark ? "ours" : "adopted";
  }
  const remedy = isOwned
    ? "it belongs to another application of Lockstep; remove it there first"
    : "it exists and was not made by this application; delete it, or set adopt: true to take it over";
  refuse(cluster, part.key, remedy);
  return "owned";
}

/** A hook runs once per step: what an earlier step left is deleted first. */
async function runHook(context: ActContext, cluster: string, grant: Grant, part: Part): Promise<boolean> {
  const { engine, owner } = context;
  const before = dispatchedIn(context, cluster).find(({ ref }) => isSameRef(ref, part.ref));
  if (before && epochNote(before.notes) === grant.step && !before.deleting) return true;
  if (before) {
    const isReserved = before.notes[NOTES.epoch] === undefined && !before.deleting;
    if (!isReserved) {
      await engine.withdraw(owner, before, "remove");
      return false;
    }
  }
  const manifest = context.way.manifest(part, grant);
  const takesOver = await reserve(context, cluster, [part]);
  const expected = dispatchedIn(context, cluster).find(({ ref }) => isSameRef(ref, part.ref));
  if (!expected) throw new Error(`hook ${part.key} for ${cluster} was taken away while it was being dispatched`);
  await engine.dispatch(owner, {
    cluster,
    term: context.term,
    manifest: withEpoch(manifest, grant.step),
    notes: {
      [NOTES.content]: digestOf(manifest),
      [NOTES.epoch]: String(grant.step),
      [NOTES.hook]: (part.hook?.deletePolicies ?? []).join(","),
      ...(part.isCrd && { [NOTES.end]: "keep" }),
    },
    expected,
    takeOver: takesOver.has(part.key),
  });
  return true;
}

/** Hooks that are over and say so are deleted; the others stay until they run again, for people to look at. */
async function tidyHooks(context: ActContext, cluster: string, grant: Grant): Promise<boolean> {
  const { way, engine, owner } = context;
  const stages = way.stages(grant.revision, cluster, grant.mode) ?? [];
  const over = stages.slice(0, grant.stage).flatMap((stage) => (stage.kind === "hook" ? [stage.object] : []));
  const gone = dispatchedIn(context, cluster).map(async (one) => {
    const policies = one.notes[NOTES.hook]?.split(",") ?? [];
    const isOver = over.some((key) => {
      const part = way.part(grant.revision, cluster, key);
      return part !== undefined && isSameRef(part.ref, one.ref);
    });
    if (!isOver || !policies.includes("hook-succeeded")) return true;
    return engine.withdraw(owner, one, "remove");
  });
  return (await Promise.all(gone)).every(Boolean);
}

/** What the revision no longer has, or what a CrossClusterStatefulset manages by now. */
async function prune(context: ActContext, cluster: string, grant: Grant): Promise<boolean> {
  const parts = context.way.parts(grant.revision, cluster);
  if (!parts) return true;
  const surplus = dispatchedIn(context, cluster).filter(({ ref }) => !parts.some((part) => isSameRef(part.ref, ref)));
  return withdrawAll(context, surplus, !context.prune);
}

async function remove(context: ActContext, cluster: string, tier: number): Promise<boolean> {
  const going = dispatchedIn(context, cluster).filter(({ ref }) => tierOf(ref.kind) >= tier);
  return withdrawAll(context, going, false);
}

async function withdrawAll(
  { engine, owner }: ActContext,
  list: readonly Dispatched[],
  keepsAll: boolean,
): Promise<boolean> {
  const order = [...list].sort((a, b) => kindOrder(b.ref, a.ref));
  const gone = order.map((one) => engine.withdraw(owner, one, keepsAll || isKept(one) ? "keep" : "remove"));
  return (await Promise.all(gone)).every(Boolean);
}
