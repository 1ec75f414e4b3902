import { createHash } from "node:crypto";
import type { CrossClusterStatefulsetSpec } from "../../api/index.ts";
import { ANNOTATIONS } from "../../contract/index.ts";
import type {
  ClaimNames,
  Dispatched,
  Engine,
  EngineApp,
  EngineCluster,
  ObjectRef,
  Snapshot,
} from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import {
  type Action,
  type FoundGrant,
  foundGrantOf,
  type Grant,
  initialCluster,
  type Ledger,
  type PlanResult,
  parseFoundGrant,
  topologyView,
  type VolumeRetention,
} from "../../plan/index.ts";
import {
  type MemberManifest,
  type NetworkSettings,
  type ReplicaSource,
  renderMember,
  workloadDifferences,
} from "../../render/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { isWorkload } from "./dispatched.ts";
import type { RevisionOwner, RevisionStore } from "./revision-store.ts";
import { claimNames } from "./volumes.ts";

export interface ActContext {
  readonly engine: Engine;
  readonly app: EngineApp;
  readonly owner: RevisionOwner;
  readonly revisions: RevisionStore;
  readonly interpreter: Pick<Interpreter, "interpretNow">;
  readonly spec: CrossClusterStatefulsetSpec;
  readonly network: NetworkSettings;
  readonly ledger: Ledger;
  readonly term: number;
  /** Throws when this process does not lead the application any more, or the application is gone. */
  readonly confirm: () => Promise<void>;
  /** Clusters that the engine itself had rendered before the hold: their objects are taken over as they are. */
  readonly adopting: ReadonlySet<string>;
  /** What each cluster's last dispatched grant consists of: kept, so that nobody need render it again to know. */
  readonly dispatchedRefs: Map<string, { readonly epoch: number; readonly refs: readonly ObjectRef[] }>;
}

/** What could not be carried out, by cluster; everything else was. */
export interface ActResult {
  readonly failures: readonly { readonly cluster: string; readonly message: string }[];
  /** Whether something is still going away and has to be looked at again. */
  readonly unfinished: boolean;
}

const GRANT_NOTE = "grant";
const CONTENT_NOTE = "content";

/** The epoch that the workload's dispatch object carries; 0 when there is none. */
export function dispatchedEpoch(dispatched: readonly Dispatched[], app: EngineApp, cluster: string): number {
  const found = dispatched.find((one) => one.cluster === cluster && isWorkload(one, app));
  // The manifest tells the same as the note that is written with it, and need not be parsed.
  if (found?.notes[GRANT_NOTE] === undefined || !isJsonObject(found.manifest.metadata)) return 0;
  const { annotations } = found.manifest.metadata;
  const epoch = isJsonObject(annotations) ? Number(annotations[ANNOTATIONS.epoch]) : 0;
  return Number.isSafeInteger(epoch) && epoch > 0 ? epoch : 0;
}

/** Grants that are not dispatched, or not all of them any more: somebody may have deleted what a workload needs beside it. */
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

/** It has done away with its last instance; all that is left is to remove what was dispatched, never to make it anew. */
export function isDrained({ clusters }: Ledger, cluster: string): boolean {
  const entry = clusters[cluster];
  return entry?.grant?.replicas === 0 && entry.done;
}

/**
 * Drained, and nothing dispatches its object, which is still there: somebody deleted the dispatch object. It has to be made
 * again, for what it dispatched to be removed with it.
 */
export function isStranded(
  { engine, app, ledger }: Pick<ActContext, "engine" | "app" | "ledger">,
  cluster: string,
): boolean {
  if (!isDrained(ledger, cluster)) return false;
  if (engine.dispatched(app).some((one) => one.cluster === cluster && isWorkload(one, app))) return false;
  const live = engine.snapshot(app, cluster);
  return live.kind === "present" && live.object.metadata.deletionTimestamp === undefined && hasToken(live, ledger);
}

/** Every cluster's found grant, for a ledger that has to be rebuilt. */
export function grantsFound(dispatched: readonly Dispatched[], app: EngineApp) {
  return dispatched.flatMap((one) => {
    const note = isWorkload(one, app) ? one.notes[GRANT_NOTE] : undefined;
    return (note === undefined ? undefined : readNote(note)) ?? [];
  });
}

/**
 * What the planner has forgotten and is still dispatched. Of clusters that have been drained, supporting objects are left: they
 * are removed, but never a workload that is still dispatched, whatever the ledger says. [T3] When a teardown has nothing more
 * to do, workloads that are left belong to clusters that it gave up: they are let go, and nothing is deleted there.
 */
export function leftToDo(
  { ledger, finished, actions }: Pick<PlanResult, "ledger" | "finished" | "actions">,
  dispatched: readonly Dispatched[],
  app: EngineApp,
  volumes: VolumeRetention,
): Action[] {
  const forgotten = new Set(dispatched.map(({ cluster }) => cluster).filter((name) => !ledger.clusters[name]?.grant));
  for (const { cluster } of actions) forgotten.delete(cluster);
  return [...forgotten].flatMap((cluster): Action[] => {
    const here = dispatched.filter((one) => one.cluster === cluster);
    const workloads = here.filter((one) => isWorkload(one, app));
    const isLetGo = here.some(({ deleting, keeps }) => deleting && keeps);
    if (finished && (isLetGo || workloads.some(({ deleting }) => !deleting))) return [{ kind: "release", cluster }];
    return workloads.every(({ deleting }) => deleting) ? [{ kind: "remove", cluster, volumes }] : [];
  });
}

/** Each outstanding grant's manifests, under way. What fails is told when the grant is carried out. */
type Prepared = ReadonlyMap<Grant, Promise<readonly MemberManifest[]>>;

export function prepare(
  context: ActContext,
  grants: readonly Grant[],
  clusters: ReadonlyMap<string, EngineCluster>,
): Prepared {
  const prepared = new Map<Grant, Promise<readonly MemberManifest[]>>();
  for (const grant of grants) {
    const rendering = render(context, grant, clusters.get(grant.cluster));
    rendering.catch(() => {});
    prepared.set(grant, rendering);
  }
  return prepared;
}

/** Carries the grants and actions out. One cluster's failure stops no other. */
export async function act(
  context: ActContext,
  grants: readonly Grant[],
  actions: readonly Action[],
  clusters: ReadonlyMap<string, EngineCluster>,
  prepared: Prepared,
): Promise<ActResult> {
  const failures: { cluster: string; message: string }[] = [];
  let unfinished = false;
  const attempt = async (cluster: string, work: () => Promise<boolean>) => {
    try {
      if (!(await work())) unfinished = true;
    } catch (error) {
      if (isFatal(error)) throw error;
      failures.push({ cluster, message: error instanceof Error ? error.message : String(error) });
    }
  };
  await Promise.all([
    ...grants.map((grant) => {
      const manifests = () => prepared.get(grant) ?? render(context, grant, clusters.get(grant.cluster));
      return attempt(grant.cluster, async () => dispatchGrant(context, grant, await manifests()));
    }),
    ...actions.map((action) => attempt(action.cluster, () => carryOut(context, action))),
  ]);
  return { failures, unfinished };
}

/** A later leader's term ends this process's leadership; it is not one cluster's failure. */
function isFatal(error: unknown): boolean {
  return error instanceof Error && error.name === "SupersededError";
}

async function dispatchGrant(
  context: ActContext,
  grant: Grant,
  manifests: readonly MemberManifest[],
): Promise<boolean> {
  const { engine, app, ledger, adopting } = context;
  const refs = refsOf(manifests);
  // What is going away delivers nothing any more: it is made again when it has gone.
  const isEnding = ({ cluster, deleting, ref }: Dispatched) =>
    deleting && cluster === grant.cluster && refs.some((each) => isSameRef(each, ref));
  if (engine.dispatched(app).some(isEnding)) return false;
  if (adopting.has(grant.cluster)) checkAdoption(context, grant.cluster, manifests);
  await reserve(context, grant, refs);
  if (adopting.has(grant.cluster)) await engine.adopt(app, grant.cluster);
  const found = engine.dispatched(app).filter(({ cluster }) => cluster === grant.cluster);
  const isGranted = dispatchedEpoch(found, app, grant.cluster) >= grant.epoch;
  // In order: what the workload needs is there before the workload names it.
  for (const { object, role } of manifests) {
    // Only what it needs was missing. What has changed since is the next grant's, under an epoch of its own.
    if (role === "workload" && isGranted) continue;
    const manifest = object as unknown as KubeObject;
    const expected = found.find(({ ref }) => isSameRef(ref, refOf(manifest)));
    // It was reserved: only somebody who leads meanwhile can have done away with it.
    if (!expected)
      throw new Error(
        `${manifest.kind} ${manifest.metadata.name} for ${grant.cluster} was taken away while it was being dispatched; it is looked at again`,
      );
    const content = createHash("sha256").update(JSON.stringify(object)).digest("hex").slice(0, 32);
    if (role !== "workload" && expected.notes[CONTENT_NOTE] === content) continue;
    const grantNote: Record<string, string> =
      role === "workload" ? { [GRANT_NOTE]: JSON.stringify(foundGrantOf(ledger, grant.cluster)) } : {};
    await engine.dispatch(app, {
      cluster: grant.cluster,
      manifest,
      term: context.term,
      notes: { [CONTENT_NOTE]: content, ...grantNote },
      expected,
      takeOver: adopting.has(grant.cluster),
    });
  }
  context.dispatchedRefs.set(grant.cluster, { epoch: grant.epoch, refs });
  return true;
}

/**
 * What does not exist yet cannot be compared with: a leader that slept would make it again after another had done away with
 * it. So its place is taken first, and whoever does not lead any more gives it back.
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
 * Whether the member's object came from us although nothing dispatches it any more: somebody deleted the dispatch object, and
 * the engine no longer knows the member's as its own.
 */
function isOurs({ engine, app, ledger }: ActContext, { cluster, epoch }: Grant): boolean {
  const live = engine.snapshot(app, cluster);
  // Out of sight the ledger's word counts: whoever has had a grant before, or was seen with this one, has its object from us.
  if (live.kind === "unreachable") return epoch > 1 || (ledger.clusters[cluster]?.ackedAtMs ?? null) !== null;
  return live.kind === "present" && hasToken(live, ledger);
}

function hasToken({ object }: Extract<Snapshot, { kind: "present" }>, { identity }: Ledger): boolean {
  const token = object.metadata.annotations?.[ANNOTATIONS.clusterToken];
  return token !== undefined && token === identity?.app.clusterToken;
}

/** Taking over moves nothing: what is about to be written must say what the live object says already. */
function checkAdoption({ engine, app }: ActContext, cluster: string, manifests: readonly MemberManifest[]): void {
  const snapshot = engine.snapshot(app, cluster);
  const workload = manifests.find(({ role }) => role === "workload");
  if (snapshot.kind !== "present" || !workload) throw new Error(`${cluster} cannot be adopted: its object is not seen`);
  const moved = workloadDifferences(snapshot.object, workload.object);
  if (moved.length === 0) return;
  const { kind, namespace, name } = app.template;
  throw new Error(
    `${kind} ${namespace}/${name} in ${cluster} cannot be adopted without moving it: ${moved.join(", ")} would change; ` +
      "bring the running object in line (finish its update, remove its partition), then it is adopted",
  );
}

/** Dispatch objects that the cluster's grant no longer needs, once it is done with what used them. */
export async function removeLeftovers(
  context: ActContext,
  grant: Grant,
  facts: EngineCluster | undefined,
): Promise<void> {
  const known = context.dispatchedRefs.get(grant.cluster);
  const needed = known?.epoch === grant.epoch ? known.refs : refsOf(await render(context, grant, facts));
  for (const one of context.engine.dispatched(context.app)) {
    if (one.cluster !== grant.cluster || one.deleting) continue;
    if (needed.some((ref) => isSameRef(one.ref, ref))) continue;
    await context.engine.withdraw(context.app, one, "remove");
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
  if (!ledger.identity) throw new Error("the ledger has grants but no identity");
  const result = renderMember({
    app: ledger.identity.app,
    cluster: facts ?? { name: grant.cluster, labels: {}, zones: [] },
    grant,
    revision: { id: grant.revision, content },
    topology: topologyView(ledger, grant.topologyVersion),
    initialCluster: initialCluster(ledger, grant),
    replicas: await replicaSource(context, content.template, grant.replicas),
    network,
    member: { retention: spec.retentionPolicy, memberConcurrency: spec.memberConcurrency },
    ...(baseRevision && { baseRevision }),
  });
  if (!result.ok) throw result.error;
  return result.manifests;
}

/** Kubernetes' own kinds are revised natively; any other kind as the interpreter says, where somebody taught it. */
async function replicaSource(context: ActContext, template: JsonObject, replicas: number): Promise<ReplicaSource> {
  const apiVersion = String(template.apiVersion);
  if (apiVersion === "apps/v1" || apiVersion === "batch/v1") return { kind: "native" };
  const outcome = await context.interpreter.interpretNow("ReviseReplica", { object: template, replicas });
  if (outcome.state === "known" && outcome.layer !== "native") return { kind: "revised", object: outcome.value };
  return { kind: "native" };
}

async function carryOut(context: ActContext, action: Action): Promise<boolean> {
  const { engine, app } = context;
  const dispatched = engine.dispatched(app).filter(({ cluster }) => cluster === action.cluster);
  const workloads = dispatched.filter((one) => isWorkload(one, app));
  const others = dispatched.filter((one) => !isWorkload(one, app));
  switch (action.kind) {
    case "deletePods": {
      const member = engine.member(action.cluster);
      for (const pod of action.pods) await member.deletePod(app.template.namespace, pod);
      return true;
    }
    case "release": {
      const gone = await Promise.all(dispatched.map((one) => engine.withdraw(app, one, "keep")));
      return gone.every(Boolean);
    }
    case "remove": {
      // The workload first: what it uses must outlive it.
      const gone = await Promise.all(workloads.map((one) => engine.withdraw(app, one, "remove")));
      if (!gone.every(Boolean)) return false;
      if (action.volumes === "Delete") {
        const claims = await claimsOf(context, action.cluster);
        await engine.member(action.cluster).deleteVolumes(app.template.namespace, claims);
      }
      const rest = await Promise.all(others.map((one) => engine.withdraw(app, one, "remove")));
      return rest.every(Boolean);
    }
  }
}

/** The claims that may be deleted with the application: by what was granted, for the template may say anything by now. */
async function claimsOf({ app, owner, ledger, revisions }: ActContext, cluster: string): Promise<ClaimNames> {
  const granted = ledger.clusters[cluster]?.grant?.revision;
  const stored = revisions.list(owner).map(({ id }) => id);
  for (const id of granted === undefined ? stored : [granted, ...stored]) {
    const content = await revisions.content(owner, id);
    if (content) return claimNames(app, [content.template]);
  }
  if (app.template.kind !== "StatefulSet") return claimNames(app, []);
  throw new Error(
    `no revision of ${app.template.name} is stored any more, so that nobody knows which claims in ${cluster} are its own; ` +
      "set retentionPolicy to Retain, and delete them yourself",
  );
}

function refsOf(manifests: readonly MemberManifest[]): ObjectRef[] {
  return manifests.map(({ object }) => refOf(object as unknown as KubeObject));
}

function refOf({ apiVersion, kind, metadata }: KubeObject): ObjectRef {
  return { apiVersion, kind, namespace: metadata.namespace ?? "", name: metadata.name };
}

function isSameRef(a: ObjectRef, b: ObjectRef): boolean {
  return a.kind === b.kind && a.name === b.name && a.namespace === b.namespace && a.apiVersion === b.apiVersion;
}

/** A note that cannot be read is none: its cluster is then written to again, with the ledger's grant. */
function readNote(note: string): FoundGrant | undefined {
  try {
    return parseFoundGrant(JSON.parse(note));
  } catch {
    return undefined;
  }
}
