import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { EngineApp } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { PlanResult } from "../../../plan/index.ts";
import type { Announcer } from "../../common/announcer.ts";
import { Warnings } from "../../common/warnings.ts";
import { ActEvents, type ActNews } from "./acts.ts";
import { sentence } from "./words.ts";

/** Turns plans into Events worth reading: each step once, each warning once until it has gone. */
export class Announcements {
  readonly #announcer: Announcer;
  readonly #warnings: Warnings;
  readonly #acts = new ActEvents();

  constructor(announcer: Announcer) {
    this.#announcer = announcer;
    this.#warnings = new Warnings(announcer);
  }

  announce(
    key: string,
    object: KubeObject,
    { steps, completed, waiting }: Pick<PlanResult, "steps" | "completed" | "waiting">,
  ): void {
    for (const { cluster } of completed)
      this.#announcer.event(object, "Normal", "StepFinished", `${cluster}: its step is finished`);
    for (const { cluster, kind, why } of steps) {
      // A step also updates the topology in all other clusters. Users only need the Event of the step itself.
      if (kind !== "topology") this.#announcer.event(object, "Normal", STEP_REASONS[kind], `${cluster}: ${why}`);
    }
    this.#warnings.waiting(key, object, waiting, sentence);
  }

  /** Users' requests, and their results. */
  acts(
    key: string,
    object: KubeObject,
    statefulset: ParsedCrossClusterStatefulset,
    plan: PlanResult,
  ): readonly ActNews[] {
    const news = this.#acts.news(key, statefulset, plan);
    for (const { type, reason, message } of news) this.#announcer.event(object, type, reason, message);
    return news;
  }

  refused(key: string, object: KubeObject, reason: string, message: string): void {
    this.#warnings.refused(key, object, reason, message);
  }

  holdKept(object: KubeObject, { template }: EngineApp, hold: string): void {
    const message =
      `the engine still does not render ${template.kind} ${template.namespace}/${template.name}, so ` +
      "that nothing moves: " +
      `delete ${hold} to hand the template over to the engine`;
    this.#announcer.event(object, "Normal", "HoldKept", message);
  }

  forget(key: string): void {
    this.#warnings.forget(key);
    this.#acts.forget(key);
  }
}

/** Steps as Events and records name them. */
export const STEP_REASONS: Record<Exclude<PlanResult["steps"][number]["kind"], "topology">, string> = {
  deploy: "Deploying",
  grow: "ScalingOut",
  shrink: "ScalingIn",
  update: "Updating",
  rollback: "RollingBack",
  transfer: "TransferringLeader",
  adopt: "Adopting",
  "return-turn": "TurnReturned",
  reassert: "Reasserted",
};
