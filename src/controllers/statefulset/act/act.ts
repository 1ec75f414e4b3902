import { createHash } from "node:crypto";
import type { CrossClusterStatefulsetSpec } from "../../../api/index.ts";
import { ANNOTATIONS } from "../../../contract/index.ts";
import {
  type ClaimNames,
  type Dispatched,
  type Engine,
  type EngineApp,
  type EngineCluster,
  type ObjectRef,
  type Snapshot,
  SupersededError,
  TermOutOfRangeError,
} from "../../../engine/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import {
  type Action,
  type FoundGrant,
  type Grant,
  grantNote,
  type Ledger,
  parseFoundGrant,
  type TopologyView,
  topologyView,
} from "../../../plan/index.ts";
import { type MemberManifest, type NetworkSettings, workloadDifferences } from "../../../render/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";
import { isWorkload } from "../../common/dispatched.ts";
import type { Unanswered } from "../../common/interpreted.ts";
import type { Owner } from "../../common/owner.ts";
import { refuseForeign } from "../../common/permitted.ts";
import { parseRevisionIndex, type RevisionEntry, revisionIndexJson } from "../../common/revisions/revision-index.ts";
import type { RevisionStore } from "../../common/revisions/revision-store.ts";
import { claimNames } from "../observe/volumes.ts";
import { renderGrant } from "./render-grant.ts";

export interface ActContext {
  readonly engine: Engine;
  readonly app: EngineApp;
  readonly owner: Owner;
  readonly revisions: RevisionStore;
  readonly interpreter: Pick<Interpreter, "interpret">;
  readonly spec: CrossClusterStatefulsetSpec;
  readonly network: NetworkSettings;
  readonly ledger: Ledger;
  /** The ledger's view of that version, computed once for all clusters that receive it. */
  readonly viewOf: (version: number) => TopologyView;
  readonly term: number;
  /** Throws when this process does not lead the application any more, or the application is gone. */
  readonly confirm: () => Promise<void>;
  /** Clusters that the engine itself had rendered before the hold: their objects are taken over as they are. */
  readonly adopting: ReadonlySet<string>;
  /** The objects of each cluster's last dispatched grant: kept, so that the grant need not be rendered again. */
  readonly dispatchedRefs: Map<string, { readonly epoch: number; readonly refs: readonly ObjectRef[] }>;
  /** [I21] Of what a grant refers to, what is not seen in its cluster yet; undefined: all of it is. */
  readonly partsAwaited: (grant: Grant, parts: readonly KubeObject[]) => string | undefined;
  /** The most that the topology may have as an annotation; absent: as the contract says. */
  readonly topologyInlineBytes?: number;
}

export interface ActFailure {
  readonly cluster: string;
  readonly message: string;
  /** `WaitingForInterpreter`: nothing is wrong with the grant, and its cluster gets it later. */
  readonly reason: "DispatchFailed" | "WaitingForInterpreter";
}

/** Thrown when the interpreter has not said yet how a grant's count is written into the workload. */
class NotInterpreted extends Error {
  override readonly name = "NotInterpreted";
  constructor({ message, remedy }: Unanswered) {
    super(`${message}. ${remedy}`);
  }
}

/** What failed or has to wait, by cluster; everything else succeeded. */
export interface ActResult {
  readonly failures: readonly ActFailure[];
  /** What has to be seen in a cluster before its grant is written there; it is being read. */
  readonly awaited: readonly { readonly cluster: string; readonly message: string }[];
  /** Whether something is still going away and has to be looked at again. */
  readonly unfinished: boolean;
}

/** `done`, `unfinished`, or what has to be seen first. */
type Progress = "done" | "unfinished" | { readonly awaits: string };

const GRANT_NOTE = "grant";
const CONTENT_NOTE = "content";
/** The owner of the grant and the content of its revisions: a ledger that is rebuilt from notes needs both. */
const LIFE_NOTE = "life";
/** For a grant that refers to ConfigMaps: a digest of their names. */
const PARTS_NOTE = "parts";

/** The epoch that the workload's dispatch object carries; 0 when there is none. */
export function dispatchedEpoch(dispatched: readonly Dispatched[], app: EngineApp, cluster: string): number {
  const found = dispatched.find((one) => one.cluster === cluster && isWorkload(one, app));
  // The manifest tells the same as the note that is written with it, and need not be parsed.
  if (found?.notes[GRANT_NOTE] === undefined || !isJsonObject(found.manifest.metadata)) return 0;
  const { annotations } = found.manifest.metadata;
  const epoch = isJsonObject(annotations) ? Number(annotations[ANNOTATIONS.epoch]) : 0;
  return Number.isSafeInteger(epoch) && epoch > 0 ? epoch : 0;
}

/** Grants that are not dispatched, or not completely: a user may have deleted a dependency's dispatch object. */
export function grantsOutstanding(
  grants: readonly Grant[],
  dispatched: readonly Dispatched[],
  app: EngineApp,
  dispatchedRefs: ActContext["dispatchedRefs"],
): Grant[] {
  const byCluster = new Map<string, Dispatched[]>();
  for (const one of dispatched) {
    const here = byCluster.get(one.cluster);
    if (here) here.push(one);
    else byCluster.set(one.cluster, [one]);
  }
  return grants.filter(({ cluster, epoch }) => {
    const here = byCluster.get(cluster) ?? [];
    if (dispatchedEpoch(here, app, cluster) < epoch) return true;
    const known = dispatchedRefs.get(cluster);
    if (known?.epoch !== epoch) return false;
    return known.refs.some((ref) => !here.some((one) => isSameRef(one.ref, ref)));
  });
}

/**
 * Every cluster's grant as found in its notes, and what they say about revisions, for a ledger that has to be rebuilt.
 * Only notes with this owner's uid count: those of an earlier object of the same name, or an earlier build, are
 * ignored.
 */
export function grantsFound(dispatched: readonly Dispatched[], app: EngineApp, owner: Owner) {
  const grants: FoundGrant[] = [];
  const revisions = new Map<string, RevisionEntry>();
  for (const one of dispatched) {
    const life = isWorkload(one, app) ? readLife(one.notes[LIFE_NOTE]) : undefined;
    const grant = one.notes[GRANT_NOTE];
    const found = life?.uid === owner.uid && grant !== undefined ? readNote(grant) : undefined;
    if (!found) continue;
    grants.push(found);
    for (const entry of life?.revisions ?? []) revisions.set(entry.id, entry);
  }
  return { grants, revisions: [...revisions.values()].sort((a, b) => a.number - b.number) };
}

/** The workload that grants were dispatched for, if no other source names it. */
export function templateOfGrants(dispatched: readonly Dispatched[]): ObjectRef | undefined {
  return dispatched.find(({ notes }) => notes[GRANT_NOTE] !== undefined)?.ref;
}

export function viewsOf(ledger: Ledger): ActContext["viewOf"] {
  const views = new Map<number, TopologyView>();
  return (version) => {
    const view = views.get(version) ?? topologyView(ledger, version);
    views.set(version, view);
    return view;
  };
}

/**
 * The number of grants that are rendered and dispatched at a time. A large application's manifests are megabytes for
 * each of a hundred clusters: all at once, they would stop the event loop for seconds.
 */
const GRANTS_AT_ONCE = 16;

/** Each outstanding grant's manifests, while they are rendered. Errors are reported when the grant is dispatched. */
type Prepared = ReadonlyMap<Grant, Promise<readonly MemberManifest[]>>;

export function prepare(
  context: ActContext,
  grants: readonly Grant[],
  clusters: ReadonlyMap<string, EngineCluster>,
): Prepared {
  const prepared = new Map<Grant, Promise<readonly MemberManifest[]>>();
  for (const grant of grants.slice(0, GRANTS_AT_ONCE)) {
    const rendering = render(context, grant, clusters.get(grant.cluster));
    rendering.catch(() => {});
    prepared.set(grant, rendering);
  }
  return prepared;
}

/** Dispatches the grants and performs the actions. A failure in one cluster does not stop the others. */
export async function act(
  context: ActContext,
  grants: readonly Grant[],
  actions: readonly Action[],
  clusters: ReadonlyMap<string, EngineCluster>,
  prepared: Prepared,
): Promise<ActResult> {
  const failures: ActFailure[] = [];
  const awaited: { cluster: string; message: string }[] = [];
  let unfinished = false;
  const attempt = async (cluster: string, work: () => Promise<Progress>) => {
    try {
      const progress = await work();
      if (progress === "unfinished") unfinished = true;
      if (typeof progress === "object") awaited.push({ cluster, message: progress.awaits });
    } catch (error) {
      if (isFatal(error)) throw error;
      const reason = error instanceof NotInterpreted ? "WaitingForInterpreter" : "DispatchFailed";
      failures.push({ cluster, reason, message: error instanceof Error ? error.message : String(error) });
    }
  };
  await Promise.all([
    someAtOnce(grants, GRANTS_AT_ONCE, (grant) => {
      const manifests = () => prepared.get(grant) ?? render(context, grant, clusters.get(grant.cluster));
      return attempt(grant.cluster, async () => dispatchGrant(context, grant, await manifests()));
    }),
    ...actions.map((action) => attempt(action.cluster, () => performAction(context, action))),
  ]);
  return { failures, awaited, unfinished };
}

/** Works on so many items at a time; when one fails, no other is begun. */
async function someAtOnce<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        await work(item);
      } catch (error) {
        left.length = 0;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}

/** If another term is found, this process may no longer lead the application: no write may follow, in any cluster. */
function isFatal(error: unknown): boolean {
  return error instanceof SupersededError || error instanceof TermOutOfRangeError;
}

async function dispatchGrant(
  context: ActContext,
  grant: Grant,
  manifests: readonly MemberManifest[],
): Promise<Progress> {
  const { engine, app, adopting } = context;
  refuseForeign(app, manifests);
  const refs = refsOf(manifests);
  // A dispatch object that is being deleted delivers nothing any more. It is recreated when it has ended, and ending it
  // may need help: another writer may have deleted it before the member had its object.
  const isEnding = ({ cluster, deleting, ref }: Dispatched) =>
    deleting && cluster === grant.cluster && refs.some((each) => isSameRef(each, ref));
  const ending = engine.dispatched(app).filter(isEnding);
  for (const one of ending) await engine.withdraw(app, one, one.keeps ? "keep" : "remove");
  if (ending.length > 0) return "unfinished";
  if (adopting.has(grant.cluster)) checkAdoption(context, grant.cluster, manifests);
  await reserve(context, grant, refs);
  const found = engine.dispatched(app).filter(({ cluster }) => cluster === grant.cluster);
  const isGranted = dispatchedEpoch(found, app, grant.cluster) >= grant.epoch;
  // In order: what the workload needs is there before the workload names it.
  for (const { object, role } of manifests) {
    const manifest = asKube(object);
    const expected = found.find(({ ref }) => isSameRef(ref, refOf(manifest)));
    // It was reserved above: only another process that leads meanwhile can have deleted it.
    if (!expected) {
      const what = `${manifest.kind} ${manifest.metadata.name} for ${grant.cluster}`;
      throw new Error(`the dispatch object of ${what} was deleted while it was being written; it is retried`);
    }
    const notes: Record<string, string> = { [CONTENT_NOTE]: digestOf(JSON.stringify(object)) };
    if (role === "workload") {
      Object.assign(notes, grantNotes(context, grant));
      const awaits = isGranted ? undefined : partsAwaited(context, grant, manifests, expected, notes);
      if (awaits !== undefined) return { awaits };
      if (adopting.has(grant.cluster)) await engine.adopt(app, grant.cluster);
      // Only a dependency was missing. What has changed since is dispatched with the next grant, under its own epoch.
      if (isGranted) continue;
    } else if (expected.notes[CONTENT_NOTE] === notes[CONTENT_NOTE]) continue;
    await engine.dispatch(app, {
      cluster: grant.cluster,
      manifest,
      term: context.term,
      notes,
      expected,
      // A part's name contains a digest of its content: one that an earlier release left there is as good as a new one.
      takeOver: adopting.has(grant.cluster) || role === "topologyPart",
    });
  }
  context.dispatchedRefs.set(grant.cluster, { epoch: grant.epoch, refs });
  return "done";
}

/**
 * [I21] Which ConfigMaps of the grant have not been seen in the cluster yet. That they were dispatched is no evidence:
 * an operator that reads the grant must find them. Those of the previous grant were seen before it was written; the
 * note beside each grant records that.
 */
function partsAwaited(
  context: ActContext,
  grant: Grant,
  manifests: readonly MemberManifest[],
  before: Dispatched,
  notes: Record<string, string>,
): string | undefined {
  const parts = manifests.flatMap(({ role, object }) => (role === "topologyPart" ? asKube(object) : []));
  if (parts.length === 0) return undefined;
  notes[PARTS_NOTE] = digestOf(parts.map(({ metadata }) => metadata.name).join(" "));
  return before.notes[PARTS_NOTE] === notes[PARTS_NOTE] ? undefined : context.partsAwaited(grant, parts);
}

/**
 * An object that does not exist cannot be compared and swapped: a leader that was suspended would recreate it after its
 * successor had deleted it. So the leader first creates a placeholder, then confirms that it still leads, and otherwise
 * deletes the placeholder.
 */
async function reserve(context: ActContext, grant: Grant, refs: readonly ObjectRef[]): Promise<void> {
  const { engine, app, term, confirm, adopting } = context;
  const { cluster } = grant;
  const found = engine.dispatched(app).filter((one) => one.cluster === cluster);
  const missing = refs.filter((ref) => !found.some((one) => isSameRef(one.ref, ref)));
  if (missing.length === 0) return;
  const takeOver = adopting.has(cluster) || isOurs(context, grant);
  const reserved = await engine.reserve(app, missing, { cluster, term, takeOver });
  try {
    await confirm();
  } catch (error) {
    await Promise.allSettled(reserved.map((one) => engine.withdraw(app, one, "keep")));
    throw error;
  }
}

/**
 * Whether Lockstep created the member's object although no dispatch object exists for it: a user deleted the dispatch
 * object, and the engine no longer knows the member's object as its own.
 */
function isOurs({ engine, app, ledger }: ActContext, { cluster, epoch }: Grant): boolean {
  const live = engine.snapshot(app, cluster);
  // If the cluster is unreachable, the ledger decides: Lockstep created the object if the cluster had an earlier grant,
  // or has acknowledged this one.
  if (live.kind === "unreachable") return epoch > 1 || (ledger.clusters[cluster]?.ackedAtMs ?? null) !== null;
  return live.kind === "present" && hasToken(live, ledger);
}

function hasToken({ object }: Extract<Snapshot, { kind: "present" }>, { identity }: Ledger): boolean {
  const token = object.metadata.annotations?.[ANNOTATIONS.clusterToken];
  return token !== undefined && token === identity?.app.clusterToken;
}

/** Adoption changes nothing: the manifest to be written must equal the live object. */
function checkAdoption({ engine, app }: ActContext, cluster: string, manifests: readonly MemberManifest[]): void {
  const snapshot = engine.snapshot(app, cluster);
  const workload = manifests.find(({ role }) => role === "workload");
  if (snapshot.kind !== "present" || !workload) throw new Error(`${cluster} cannot be adopted: its object is not seen`);
  const moved = workloadDifferences(snapshot.object, workload.object);
  if (moved.length === 0) return;
  const { kind, namespace, name } = app.template;
  throw new Error(
    `${kind} ${namespace}/${name} in ${cluster} cannot be adopted without moving it: ` +
      `${moved.join(", ")} would change; ` +
      "bring the running object in line (finish its update, remove its partition), then it is adopted",
  );
}

/**
 * Removes the dispatch objects that the cluster's grant no longer needs, when no pod uses them any more. False: it is
 * not known yet which ones are needed.
 */
export async function removeLeftovers(
  context: ActContext,
  grant: Grant,
  facts: EngineCluster | undefined,
  isSurplus: (ref: ObjectRef) => boolean,
): Promise<boolean> {
  const needed = await neededRefs(context, grant, facts);
  if (!needed) return false;
  for (const one of context.engine.dispatched(context.app)) {
    if (one.cluster !== grant.cluster || one.deleting) continue;
    if (needed.some((ref) => isSameRef(one.ref, ref)) || !isSurplus(one.ref)) continue;
    await context.engine.withdraw(context.app, one, "remove");
  }
  return true;
}

async function neededRefs(context: ActContext, grant: Grant, facts: EngineCluster | undefined) {
  const known = context.dispatchedRefs.get(grant.cluster);
  if (known?.epoch === grant.epoch) return known.refs;
  try {
    return refsOf(await render(context, grant, facts));
  } catch (error) {
    if (error instanceof NotInterpreted) return undefined;
    throw error;
  }
}

async function render(
  context: ActContext,
  grant: Grant,
  facts: EngineCluster | undefined,
): Promise<readonly MemberManifest[]> {
  const { revisions, owner, ledger, spec, network } = context;
  const content = await revisions.content(owner, grant.revision);
  if (!content)
    throw new Error(`revision ${grant.revision} is not stored any more; nothing is written to ${grant.cluster}`);
  const entry = ledger.clusters[grant.cluster];
  const base = entry?.baseRevision && entry.baseRevision !== grant.revision ? entry.baseRevision : undefined;
  const baseRevision = base === undefined ? undefined : await revisions.content(owner, base);
  const result = renderGrant({
    spec,
    network,
    ledger,
    grant,
    cluster: facts,
    content,
    base: baseRevision,
    view: context.viewOf(grant.topologyVersion),
    interpreter: context.interpreter,
    ...(context.topologyInlineBytes !== undefined && { topologyInlineBytes: context.topologyInlineBytes }),
  });
  if ("kind" in result) throw new NotInterpreted(result);
  if (!result.ok) throw result.error;
  return result.manifests;
}

async function performAction(context: ActContext, action: Action): Promise<Progress> {
  const { engine, app } = context;
  const dispatched = engine.dispatched(app).filter(({ cluster }) => cluster === action.cluster);
  const workloads = dispatched.filter((one) => isWorkload(one, app));
  const others = dispatched.filter((one) => !isWorkload(one, app));
  switch (action.kind) {
    case "deletePods": {
      const member = engine.member(action.cluster);
      for (const { name, uid, version } of action.pods) {
        if (uid === undefined || version === undefined)
          throw new Error(`pod ${name} in ${action.cluster} was seen without uid and version, and is not deleted`);
        await context.confirm();
        await member.deletePod(app.template.namespace, { name, uid, version });
      }
      return "done";
    }
    case "release": {
      const gone = await Promise.all(dispatched.map((one) => engine.withdraw(app, one, "keep")));
      return progressOf(gone);
    }
    case "remove": {
      // The workload first: what it uses must outlive it.
      const gone = await Promise.all(workloads.map((one) => engine.withdraw(app, one, "remove")));
      if (!gone.every(Boolean)) return "unfinished";
      if (action.volumes === "Delete") {
        const claims = await claimsOf(context, action.cluster);
        await engine.member(action.cluster).deleteVolumes(app.template.namespace, claims, context.confirm);
      }
      const rest = await Promise.all(others.map((one) => engine.withdraw(app, one, "remove")));
      return progressOf(rest);
    }
  }
}

function progressOf(gone: readonly boolean[]): Progress {
  return gone.every(Boolean) ? "done" : "unfinished";
}

/** The claims to delete with the application: those of the granted revision, because the template may have changed. */
async function claimsOf({ app, owner, ledger, revisions }: ActContext, cluster: string): Promise<ClaimNames> {
  const granted = ledger.clusters[cluster]?.grant?.revision;
  const stored = revisions.list(owner).map(({ id }) => id);
  for (const id of granted === undefined ? stored : [granted, ...stored]) {
    const content = await revisions.content(owner, id);
    if (content) return claimNames(app, [content.template]);
  }
  if (app.template.kind !== "StatefulSet") return claimNames(app, []);
  throw new Error(
    `no revision of ${app.template.name} is stored any more, so it is not known which claims in ` +
      `${cluster} are its own; ` +
      "set retentionPolicy to Retain, and delete them yourself",
  );
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function refsOf(manifests: readonly MemberManifest[]): ObjectRef[] {
  return manifests.map(({ object }) => refOf(asKube(object)));
}

/** Everything that is rendered has a kind and a name. */
function asKube(object: JsonObject): KubeObject {
  return object as unknown as KubeObject;
}

function refOf({ apiVersion, kind, metadata }: KubeObject): ObjectRef {
  return { apiVersion, kind, namespace: metadata.namespace ?? "", name: metadata.name };
}

function isSameRef(a: ObjectRef, b: ObjectRef): boolean {
  return a.kind === b.kind && a.name === b.name && a.namespace === b.namespace && a.apiVersion === b.apiVersion;
}

function grantNotes({ ledger, owner, revisions }: ActContext, { cluster }: Grant): Record<string, string> {
  const entry = ledger.clusters[cluster];
  const named = new Set([entry?.grant?.revision, entry?.baseRevision, ledger.currentRevision, ledger.override?.to]);
  const entries = revisions.entries(owner).filter(({ id }) => named.has(id));
  const life = { uid: owner.uid, revisions: revisionIndexJson(entries) };
  return { [GRANT_NOTE]: grantNote(ledger, cluster), [LIFE_NOTE]: JSON.stringify(life) };
}

function readLife(note: string | undefined): { uid: string; revisions: readonly RevisionEntry[] } | undefined {
  if (note === undefined) return undefined;
  try {
    const life: Json = JSON.parse(note);
    const revisions = isJsonObject(life) ? parseRevisionIndex(life.revisions) : undefined;
    return isJsonObject(life) && typeof life.uid === "string" && revisions ? { uid: life.uid, revisions } : undefined;
  } catch {
    return undefined;
  }
}

/** A note that cannot be read counts as absent: its cluster is then written to again, with the ledger's grant. */
function readNote(note: string): FoundGrant | undefined {
  try {
    return parseFoundGrant(JSON.parse(note));
  } catch {
    return undefined;
  }
}
