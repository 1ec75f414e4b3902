import { parseRolloutApproval, type RolloutApproval } from "../../api/index.ts";
import type { Cache, KubeClient, KubeObject } from "../../kube/index.ts";
import type { RevisionId } from "../../rollout/index.ts";
import { type JsonObject, sameJson, timestamp } from "../../runtime/index.ts";
import { APPROVALS, approvalTargets } from "./resources.ts";

/** What of a plan decides whether an approval counts, whatever the kind of what is rolled out. */
interface PlannedRollout {
  readonly ledger: { readonly rollout: { readonly to: RevisionId; readonly wave: number } | null };
  readonly figures: { readonly targetRevision: RevisionId | null; readonly currentRevision: RevisionId | null };
}

const FIELD_MANAGER = "lockstep-status";

/** The approvals of each object of one kind, and their status. */
export class Approvals {
  readonly #client: KubeClient;
  readonly #cache: Cache<KubeObject>;

  constructor(client: KubeClient, cache: Cache<KubeObject>, kind?: string) {
    this.#client = client;
    this.#cache = cache;
    cache.defineIndex("target", (approval) => approvalTargets(approval, kind));
  }

  /** The approvals that are valid. The API server refuses invalid ones, and its error tells the author. */
  of(key: string): RolloutApproval[] {
    return this.#cache.byIndex("target", key).flatMap((object) => {
      const parsed = parseRolloutApproval(object);
      return parsed.ok ? [parsed.value] : [];
    });
  }

  /** Writes onto each approval whether it names something that exists, and since when it has been used. */
  async report(key: string, plan: PlannedRollout, waves: number, nowMs: number): Promise<void> {
    for (const approval of this.of(key)) {
      const status = approvalStatus(approval, plan, waves, nowMs);
      if (sameJson(approval.status, status)) continue;
      const { name, namespace } = approval.metadata;
      const object: KubeObject = {
        apiVersion: APPROVALS.apiVersion,
        kind: APPROVALS.kind,
        metadata: { name, ...(namespace !== undefined && { namespace }) },
        status,
      };
      const options = { fieldManager: FIELD_MANAGER, force: true, subresource: "status" } as const;
      this.#cache.wrote(await this.#client.apply(APPROVALS, object, options));
    }
  }
}

/** Pure; what was said once, and times of what did not change, are kept. */
export function approvalStatus(
  { spec, metadata, status: before }: RolloutApproval,
  { ledger, figures }: PlannedRollout,
  waves: number,
  nowMs: number,
): JsonObject {
  const { rollout } = ledger;
  const problem =
    spec.wave > waves
      ? `there is no wave ${spec.wave}: the strategy has ${waves}, counted from 1`
      : spec.revision !== figures.targetRevision && spec.revision !== figures.currentRevision
        ? `${spec.revision} is not being rolled out: the approval counts only for that revision`
        : undefined;
  const passed =
    rollout?.to === spec.revision
      ? rollout.wave >= spec.wave
      : rollout === null && figures.currentRevision === spec.revision;
  const condition = {
    type: "Accepted",
    status: problem === undefined ? "True" : "False",
    reason: problem === undefined ? "Names" : "NamesNothing",
    message: problem ?? `it opens what comes after wave ${spec.wave} of ${spec.revision}`,
  };
  const previous = before?.conditions?.find(({ type }) => type === "Accepted");
  const lastTransitionTime = previous?.status === condition.status ? previous.lastTransitionTime : timestamp(nowMs);
  const { approvedBy } = spec;
  const approvedAt = metadata.creationTimestamp;
  const usedAt = before?.usedAt ?? (problem === undefined && passed ? timestamp(nowMs) : undefined);
  return {
    ...(approvedBy !== undefined && { approvedBy }),
    ...(approvedAt !== undefined && { approvedAt }),
    ...(usedAt !== undefined && { usedAt }),
    conditions: [{ ...condition, lastTransitionTime }],
  };
}
