import { indexesText, parseIndexes } from "../../jobs/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../../runtime/index.ts";
import type { Dice } from "../seed/dice.ts";

/** Seeds from here on divide their work; lower ones are those of the mutants and of earlier findings. */
export const FIRST_SHAPED_SEED = 100_001;

/** Seeds from here on lose their ledgers as well, as after a restored backup. */
export const FIRST_FORGETFUL_SEED = 200_001;

/** How the work of a seed is divided. */
export type JobShape =
  | { readonly kind: "whole"; readonly slots: 1 }
  | {
      readonly kind: "indexes" | "count";
      readonly total: number;
      readonly parallelism: number;
      /** Clusters that work at a time. */
      readonly slots: number;
      /** Failed pods that a Job tries again. */
      readonly retries: number;
    };

export function shapeOf(seed: number, dice: Dice, clusters: number): JobShape {
  if (seed < FIRST_SHAPED_SEED) return { kind: "whole", slots: 1 };
  return {
    kind: dice.pick(["indexes", "count"]),
    total: dice.whole(2, 6),
    parallelism: dice.whole(1, 3),
    slots: dice.whole(1, Math.min(2, clusters)),
    retries: dice.pick([0, 1, 3]),
  };
}

/** Fields of the CrossClusterJob, and of its template's spec. */
export function shapeFields(shape: JobShape): { readonly spec: JsonObject; readonly job: JsonObject } {
  if (shape.kind === "whole") return { spec: {}, job: { backoffLimit: 0, parallelism: 1 } };
  const { kind, total, parallelism, slots, retries } = shape;
  const division = kind === "indexes" ? "Indexes" : "Completions";
  return {
    spec: { division, clusterParallelism: slots },
    job: {
      backoffLimit: retries,
      parallelism,
      completions: total,
      ...(kind === "indexes" && { completionMode: "Indexed" }),
    },
  };
}

/** What a Job's own spec says of its pods. */
export interface PodPlan {
  readonly parallelism: number;
  readonly completions: number | undefined;
  readonly isIndexed: boolean;
  readonly retries: number;
}

export function podPlanOf(job: JsonObject): PodPlan {
  const at = (field: string) => valueAt(job, "spec", field);
  const completions = at("completions");
  return {
    parallelism: Number(at("parallelism") ?? 1),
    completions: typeof completions === "number" ? completions : undefined,
    isIndexed: at("completionMode") === "Indexed",
    retries: Number(at("backoffLimit") ?? 0),
  };
}

/** The work's own index that a pod with this JOB_COMPLETION_INDEX has, as its program finds it. */
export function unitOf(job: JsonObject, index: number | undefined): number | undefined {
  if (index === undefined) return undefined;
  const containers = valueAt(job, "spec", "template", "spec", "containers");
  const [container] = Array.isArray(containers) ? containers.filter(isJsonObject) : [];
  const env = Array.isArray(container?.env) ? container.env.filter(isJsonObject) : [];
  const text = env.find(({ name }) => name === "LOCKSTEP_INDEXES")?.value;
  return typeof text === "string" ? unitsOf(text)[index] : index;
}

export function unitsOf(text: string): number[] {
  return (parseIndexes(text) ?? []).flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, at) => first + at),
  );
}

export function indexList(indexes: Iterable<number>): string {
  const sorted = [...indexes].sort((a, b) => a - b);
  return indexesText(sorted.map((index) => [index, index] as const));
}
