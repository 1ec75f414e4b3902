import { type ClusterSeen, type Ledger, type ObjectSeen, type Seen, TIERS, tierOf } from "../../applications/index.ts";
import {
  type Dispatched,
  DRAIN_TAINT,
  type Engine,
  type EngineBundle,
  type EngineCluster,
} from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import type { FleetFact } from "../../rollout/index.ts";
import { liveSeen } from "./health.ts";
import { keyOfRef } from "./manifest.ts";
import { DispatchedObjects, epochNote, NOTES } from "./notes.ts";
import type { Standing } from "./standing.ts";
import type { Way } from "./way.ts";

export interface ObserveOptions {
  readonly engine: Engine;
  readonly interpreter: Pick<Interpreter, "interpret">;
  readonly owner: EngineBundle;
  readonly ledger: Ledger;
  readonly way: Way;
  /** Objects that another owner has, by cluster and key, as the last attempt to write them found. */
  readonly refused: (cluster: string, key: string) => string | undefined;
  /** Implicit objects that are there and that others made, as the last look found. */
  readonly standing: Pick<Standing, "has">;
}

/** What hub and members show of one application at one moment. */
export function observe(options: ObserveOptions): Seen {
  const { engine, owner, ledger } = options;
  const fleet = Object.fromEntries(engine.clusters().map((cluster) => [cluster.name, factOf(cluster)]));
  const byCluster = new Map<string, Dispatched[]>();
  for (const one of engine.dispatched(owner)) {
    const list = byCluster.get(one.cluster);
    if (list) list.push(one);
    else byCluster.set(one.cluster, [one]);
  }
  const names = new Set([...Object.keys(fleet), ...Object.keys(ledger.clusters)]);
  const clusters = Object.fromEntries(
    [...names].map((name) => [name, seenIn(options, name, byCluster.get(name) ?? [])]),
  );
  return { fleet, clusters };
}

export function factOf({ state, sinceMs, cordoned }: EngineCluster): FleetFact {
  if (state === "Ready") {
    const isDrained = cordoned?.startsWith(DRAIN_TAINT) === true;
    return { state, ...(cordoned !== undefined && { cordoned }), ...(isDrained && { maintenance: true }) };
  }
  if (state === "NotReady") return { state, sinceMs: sinceMs ?? 0 };
  return { state, ...(sinceMs !== undefined && { sinceMs }) };
}

function seenIn(options: ObserveOptions, cluster: string, dispatched: readonly Dispatched[]): ClusterSeen {
  const { ledger, way } = options;
  const grant = ledger.clusters[cluster]?.grant ?? undefined;
  const parts = grant ? (way.parts(grant.revision, cluster) ?? []) : [];
  const left = TIERS.map((_, tier) => dispatched.filter(({ ref }) => tierOf(ref.kind) === tier).length);
  const own = new Set(parts.map(({ key }) => key));
  const isOfRevision = ({ ref }: Dispatched) => own.has(keyOfRef(ref));
  const objects = new DispatchedObjects(dispatched);
  const known = new Map<string, ObjectSeen>();
  return {
    left,
    leftovers: dispatched.filter((one) => !isOfRevision(one)).length,
    object: (key) => {
      const seen = known.get(key) ?? objectSeen(options, cluster, key, objects);
      known.set(key, seen);
      return seen;
    },
  };
}

/** Nothing is written for it, so its being there is all that counts. */
const STANDING: ObjectSeen = {
  dispatched: "wanted",
  epoch: 0,
  live: { kind: "present", epoch: 0, observed: true, health: "Healthy" },
};

function objectSeen(options: ObserveOptions, cluster: string, key: string, dispatched: DispatchedObjects): ObjectSeen {
  const { engine, owner, interpreter, ledger, way, refused, standing } = options;
  const grant = ledger.clusters[cluster]?.grant;
  const part = grant ? way.part(grant.revision, cluster, key) : undefined;
  if (!grant || !part) return { dispatched: "none", epoch: 0, live: { kind: "unknown" } };
  const one = dispatched.of(part.ref);
  if (!one && part.isImplicit && standing.has(cluster, key)) return STANDING;
  const wanted = way.digest(part, grant);
  const problem = refused(cluster, key);
  const live = liveSeen(interpreter, cluster, part.ref, engine.snapshot(owner, cluster, part.ref));
  return {
    dispatched: !one ? "none" : one.deleting ? "going" : one.notes[NOTES.content] === wanted ? "wanted" : "other",
    epoch: one ? epochNote(one.notes) : 0,
    live,
    ...(one?.delivery.state === "failed" && { delivery: one.delivery.message }),
    ...(problem !== undefined && { refused: problem }),
  };
}
