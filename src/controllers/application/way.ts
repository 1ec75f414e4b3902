import type { ParsedDistributedApplication } from "../../api/index.ts";
import { type Divided, type Grant, type Mode, type Stage, stagesOf } from "../../applications/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { RevisionId } from "../../rollout/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import { type Bundle, type Part, partsFor } from "./content.ts";
import { withShare } from "./manifest.ts";

export interface WayOptions {
  readonly app: ParsedDistributedApplication;
  readonly bundles: ReadonlyMap<RevisionId, Bundle>;
  readonly mark: string;
  /** Workloads that a CrossClusterStatefulset manages are left to it. */
  readonly isManaged: (part: Part) => boolean;
}

/** Each cluster's way through the revisions of one application: stages, and the objects as the cluster gets them. */
export class Way {
  readonly #options: WayOptions;
  readonly #stages = new Map<string, readonly Stage[]>();

  constructor(options: WayOptions) {
    this.#options = options;
  }

  get mark(): string {
    return this.#options.mark;
  }

  parts(revision: RevisionId, cluster: string): readonly Part[] | undefined {
    const bundle = this.#options.bundles.get(revision);
    return bundle && partsFor(bundle, cluster).filter((part) => !this.#options.isManaged(part));
  }

  part(revision: RevisionId, cluster: string, key: string): Part | undefined {
    return this.parts(revision, cluster)?.find((part) => part.key === key);
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
    const stages = stagesOf(placed, mode, this.#options.app.spec.rollout.test === "Helm");
    this.#stages.set(id, stages);
    return stages;
  }

  /** The object as the cluster gets it, but for its epoch. */
  manifest(part: Part, { replicas }: Pick<Grant, "replicas">): KubeObject {
    const share = replicas[`${part.object.kind}/${part.object.metadata.name}`];
    return withShare(part.object, this.#options.mark, share);
  }

  /** The workloads whose replicas are divided, as the target revision has them. */
  divided(revision: RevisionId | undefined): Divided[] {
    const { app, bundles } = this.#options;
    const bundle = revision === undefined ? undefined : bundles.get(revision);
    return (app.spec.replicas ?? []).flatMap(({ kind, name, total, weights, failover }): Divided[] => {
      const part = bundle?.variants[0]?.parts.find(
        ({ object }) => object.kind === kind && object.metadata.name === name,
      );
      if (!part) return [];
      const spec = isJsonObject(part.object.spec) ? part.object.spec : {};
      const own = typeof spec.replicas === "number" ? spec.replicas : 1;
      return [
        {
          key: `${kind}/${name}`,
          object: part.key,
          total: total ?? own,
          ...(weights && { weights }),
          ...(failover && { failover }),
        },
      ];
    });
  }
}
