import type { ParsedDistributedApplication } from "../../api/index.ts";
import { type Divided, type Grant, type Mode, type Stage, stagesOf, withoutHooks } from "../../applications/index.ts";
import type { DivisionRequest, ObjectRef } from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { RevisionId } from "../../rollout/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import { type Bundle, type Part, partsFor } from "./content.ts";
import { digestOf, withShare } from "./manifest.ts";

export interface WayOptions {
  readonly app: ParsedDistributedApplication;
  readonly bundles: ReadonlyMap<RevisionId, Bundle>;
  readonly mark: string;
  /** Workloads that a CrossClusterStatefulset manages are left to it. */
  readonly isManaged: (ref: ObjectRef) => boolean;
  /** The hooks of a deletion may not be distributed any more: it continues without them. */
  readonly hasNoDeleteHooks: boolean;
}

/** `scheduled`: what the engine's scheduler is asked. */
export interface DividedPart extends Divided {
  readonly scheduled?: Omit<DivisionRequest, "clusters">;
}

interface Placed {
  readonly parts: readonly Part[];
  readonly byKey: ReadonlyMap<string, Part>;
}

interface Made {
  readonly mark: string;
  readonly share: number | undefined;
  readonly manifest: KubeObject;
  readonly digest: string;
}

/** What was made of each object last: a digest of a large object is expensive, and every reconcile asks for all of them. */
const MADE = new WeakMap<Part, Made>();

/** Each cluster's way through the revisions of one application: stages, and the objects as the cluster gets them. */
export class Way {
  readonly #options: WayOptions;
  readonly #stages = new Map<string, readonly Stage[]>();
  readonly #parts = new Map<readonly Part[], Placed>();

  constructor(options: WayOptions) {
    this.#options = options;
  }

  get mark(): string {
    return this.#options.mark;
  }

  isManaged(ref: ObjectRef): boolean {
    return this.#options.isManaged(ref);
  }

  parts(revision: RevisionId, cluster: string): readonly Part[] | undefined {
    return this.#placed(revision, cluster)?.parts;
  }

  part(revision: RevisionId, cluster: string, key: string): Part | undefined {
    return this.#placed(revision, cluster)?.byKey.get(key);
  }

  #placed(revision: RevisionId, cluster: string): Placed | undefined {
    const bundle = this.#options.bundles.get(revision);
    if (!bundle) return undefined;
    // Clusters with the same objects share them: most applications have one list for all clusters.
    const all = partsFor(bundle, cluster);
    const known = this.#parts.get(all);
    if (known) return known;
    const parts = all.filter(({ ref }) => !this.isManaged(ref));
    const placed = { parts, byKey: new Map(parts.map((part) => [part.key, part])) };
    this.#parts.set(all, placed);
    return placed;
  }

  stages(revision: RevisionId, cluster: string, mode: Mode): readonly Stage[] | undefined {
    const id = `${revision} ${cluster} ${mode}`;
    const known = this.#stages.get(id);
    if (known) return known;
    const parts = this.parts(revision, cluster);
    if (!parts) return mode === "Delete" ? stagesOf([], mode, false) : undefined;
    const placed = parts.map(({ key, object, hook }) => ({
      key,
      kind: object.kind,
      name: object.metadata.name,
      ...(hook && { hook }),
    }));
    const all = stagesOf(placed, mode, this.#options.app.spec.rollout.test === "Helm");
    const stages = mode === "Delete" && this.#options.hasNoDeleteHooks ? withoutHooks(all) : all;
    this.#stages.set(id, stages);
    return stages;
  }

  /** The object as the cluster gets it, but for its epoch. */
  manifest(part: Part, grant: Pick<Grant, "replicas">): KubeObject {
    return this.#made(part, grant).manifest;
  }

  /** A digest of that. */
  digest(part: Part, grant: Pick<Grant, "replicas">): string {
    return this.#made(part, grant).digest;
  }

  #made(part: Part, { replicas }: Pick<Grant, "replicas">): Made {
    const { mark } = this.#options;
    const share = replicas[`${part.object.kind}/${part.object.metadata.name}`];
    const known = MADE.get(part);
    if (known?.mark === mark && known.share === share) return known;
    const manifest = withShare(part.hook ? withoutTtl(part.object) : part.object, mark, share);
    const made = { mark, share, manifest, digest: digestOf(manifest) };
    MADE.set(part, made);
    return made;
  }

  /** The workloads whose replicas are divided, as the target revision has them. */
  divided(revision: RevisionId | undefined): DividedPart[] {
    const { app, bundles } = this.#options;
    const bundle = revision === undefined ? undefined : bundles.get(revision);
    return (app.spec.replicas ?? []).flatMap(
      ({ kind, name, by, total, weights, failover, preference }): DividedPart[] => {
        const part = bundle?.variants[0]?.parts.find(
          ({ object }) => object.kind === kind && object.metadata.name === name,
        );
        if (!part) return [];
        const spec = isJsonObject(part.object.spec) ? part.object.spec : {};
        const own = typeof spec.replicas === "number" ? spec.replicas : 1;
        const replicas = total ?? own;
        const scheduled = { workload: part.object, replicas, isAggregated: preference === "Pack" };
        return [
          {
            key: `${kind}/${name}`,
            object: part.key,
            total: replicas,
            ...(weights && { weights }),
            ...(failover && { failover }),
            ...(by === "Scheduler" && { scheduled }),
          },
        ];
      },
    );
  }
}

/** A Job that deletes itself would be sent again by the engine: a hook would run twice. Helm's delete policies remain. */
function withoutTtl(object: KubeObject): KubeObject {
  if (object.kind !== "Job" || !isJsonObject(object.spec)) return object;
  const { ttlSecondsAfterFinished: _never, ...spec } = object.spec;
  return { ...object, spec };
}
