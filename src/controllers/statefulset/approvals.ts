import { parseRolloutApproval, type RolloutApproval } from "../../api/index.ts";
import type { Cache, KubeClient, KubeObject } from "../../kube/index.ts";
import type { PlanResult } from "../../plan/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { APPROVALS, approvalTargets } from "./resources.ts";
import { sameJson } from "./same-json.ts";

const FIELD_MANAGER = "lockstep-status";

/** The approvals of each CrossClusterStatefulset: what people opened, and what became of it. */
export class Approvals {
  readonly #client: KubeClient;
  readonly #cache: Cache<KubeObject>;

  constructor(client: KubeClient, cache: Cache<KubeObject>) {
    this.#client = client;
    this.#cache = cache;
    cache.defineIndex("statefulset", approvalTargets);
  }

  /** Those that can be read; the others are told so on themselves by the API server that refused them. */
  of(key: string): RolloutApproval[] {
    return this.#objects(key).flatMap(({ approval }) => (approval ? [approval] : []));
  }

  /** Writes onto each approval whether it names something that exists, and since when it has been used. */
  async report(key: string, plan: PlanResult, waves: number, nowMs: number): Promise<void> {
    for (const { object: found, approval } of this.#objects(key)) {
      if (!approval) continue;
      const status = approvalStatus(approval, creatorOf(found), plan, waves, nowMs);
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

  #objects(key: string) {
    return this.#cache.byIndex("statefulset", key).map((object) => {
      const parsed = parseRolloutApproval(object);
      return { object, approval: parsed.ok ? parsed.value : undefined };
    });
  }
}

/** The program that made the object, by its own account. Of the person behind it an object says nothing. */
export function creatorOf({ metadata }: KubeObject): string | undefined {
  const entries = Array.isArray(metadata.managedFields) ? metadata.managedFields.filter(isJsonObject) : [];
  const first = entries
    .filter(
      ({ subresource, manager, time: at }) => !subresource && typeof manager === "string" && typeof at === "string",
    )
    .sort((a, b) => (String(a.time) < String(b.time) ? -1 : 1))[0];
  return typeof first?.manager === "string" ? first.manager : undefined;
}

/** Pure; what was said once, and times of what did not change, are kept. */
export function approvalStatus(
  { spec, metadata, status: before }: RolloutApproval,
  creator: string | undefined,
  { ledger, figures }: PlanResult,
  waves: number,
  nowMs: number,
): JsonObject {
  const { rollout } = ledger;
  const problem =
    spec.wave >= waves
      ? `there is no wave ${spec.wave}: the strategy has ${waves}, counted from 0`
      : spec.revision !== figures.targetRevision && spec.revision !== figures.currentRevision
        ? `${spec.revision} is not being rolled out: the approval counts only for that revision`
        : undefined;
  const passed =
    rollout?.to === spec.revision
      ? rollout.wave > spec.wave
      : rollout === null && figures.currentRevision === spec.revision;
  const condition = {
    type: "Accepted",
    status: problem === undefined ? "True" : "False",
    reason: problem === undefined ? "Names" : "NamesNothing",
    message: problem ?? `it opens what comes after wave ${spec.wave} of ${spec.revision}`,
  };
  const previous = before?.conditions?.find(({ type }) => type === "Accepted");
  const lastTransitionTime = previous?.status === condition.status ? previous.lastTransitionTime : time(nowMs);
  const approvedBy = before?.approvedBy ?? creator;
  const approvedAt = metadata.creationTimestamp;
  const usedAt = before?.usedAt ?? (problem === undefined && passed ? time(nowMs) : undefined);
  return {
    ...(approvedBy !== undefined && { approvedBy }),
    ...(approvedAt !== undefined && { approvedAt }),
    ...(usedAt !== undefined && { usedAt }),
    conditions: [{ ...condition, lastTransitionTime }],
  };
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
