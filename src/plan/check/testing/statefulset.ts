import type { ClusterName, Grant, InstanceObservation } from "../../types/index.ts";
import type { Bench } from "./bench.ts";

interface Pod {
  readonly revision: string;
  phase: "ready" | "starting" | "terminating";
  disrupted: boolean;
  readonly life: number;
}

export interface StatefulSetTraits {
  /** podManagementPolicy OrderedReady. */
  readonly ordered?: boolean;
  /** How many it restarts at a time. More than one only if its spec says so. */
  readonly width?: number;
  /** Pods that never become ready. */
  readonly cannotRun?: (ordinal: number, revision: string) => boolean;
}

/**
 * An apps/v1 StatefulSet in one cluster of the bench: its controller and its node act only when told to, one thing at a
 * time.
 */
export class StatefulSetModel {
  readonly pods: (Pod | undefined)[];
  readonly #bench: Bench;
  readonly #cluster: ClusterName;
  readonly #traits: Required<StatefulSetTraits>;
  #observed: Grant;
  #lives = 0;

  /** Everything that the cluster was granted runs. */
  constructor(bench: Bench, cluster: ClusterName, traits: StatefulSetTraits = {}) {
    this.#bench = bench;
    this.#cluster = cluster;
    this.#traits = { ordered: false, width: 1, cannotRun: () => false, ...traits };
    const live = bench.member(cluster).live;
    if (!live) throw new Error(`${cluster} has nothing granted yet`);
    this.#observed = live;
    this.pods = Array.from({ length: live.replicas }, () => this.#pod(live.revision, "ready"));
    this.show();
  }

  get ready(): number {
    return this.pods.filter((pod) => pod?.phase === "ready").length;
  }

  /** Its controller looks once. Returns how many ready pods it took down. */
  sync(): number {
    const { live } = this.#bench.member(this.#cluster);
    if (!live) return 0;
    this.#observed = live;
    const missing = this.pods.indexOf(undefined);
    if (missing >= 0) {
      this.pods[missing] = this.#pod(live.revision, "starting");
      return 0;
    }
    if (live.onDelete || (this.#traits.ordered && this.ready < this.pods.length)) return 0;
    let taken = 0;
    for (const pod of this.#old(live.revision).toReversed().slice(0, this.#room(live.revision))) {
      if (pod.phase === "ready") taken++;
      pod.phase = "terminating";
    }
    return taken;
  }

  /** apps/v1: the highest old pod goes if all above it are healthy; with a width, as many as that leaves room for. */
  #room(revision: string): number {
    const { width } = this.#traits;
    if (width > 1) {
      const going = this.pods.filter((pod) => pod?.phase === "terminating" && pod.revision !== revision).length;
      const starting = this.pods.filter((pod) => pod?.phase !== "ready" && pod?.revision === revision).length;
      return Math.max(0, width - going - starting);
    }
    for (const pod of this.pods.toReversed()) {
      if (pod && pod.revision !== revision && pod.phase !== "terminating") return 1;
      if (pod?.phase !== "ready") return 0;
    }
    return 0;
  }

  #old(revision: string): Pod[] {
    return this.pods.filter((pod): pod is Pod => pod?.phase !== "terminating" && pod?.revision !== revision && !!pod);
  }

  /** The node's part: what terminates goes, what starts comes up if it can. */
  move(ordinal: number): void {
    const pod = this.pods[ordinal];
    if (pod?.phase === "terminating") this.pods[ordinal] = undefined;
    else if (pod?.phase === "starting" && !this.#traits.cannotRun(ordinal, pod.revision)) pod.phase = "ready";
  }

  /** One of those on their way moves on. */
  moveAny(which: number): void {
    const moving = this.pods.flatMap((pod, ordinal) => (pod && pod.phase !== "ready" ? [ordinal] : []));
    if (moving.length > 0) this.move(moving[which % moving.length] ?? 0);
  }

  /** It dies in place. */
  crash(ordinal: number): void {
    const pod = this.pods[ordinal];
    if (pod?.phase === "ready") pod.phase = "starting";
  }

  evict(ordinal: number): void {
    const pod = this.pods[ordinal];
    if (!pod || pod.phase === "terminating") return;
    pod.phase = "terminating";
    pod.disrupted = true;
  }

  /** Carries out the planner's deletions, by uid. */
  deletePods(): void {
    for (const action of this.#bench.last?.actions ?? []) {
      if (action.kind !== "deletePods" || action.cluster !== this.#cluster) continue;
      for (const { uid } of action.pods) {
        const pod = this.pods.find((each, ordinal) => each && uidOf(ordinal, each) === uid);
        if (pod) pod.phase = "terminating";
      }
    }
  }

  /** The next plan sees all this. */
  show(): void {
    const member = this.#bench.member(this.#cluster);
    const there = this.pods.filter((pod) => pod !== undefined);
    const isNew = ({ revision }: Pod) => revision === this.#observed.revision;
    const count = (phase: Pod["phase"]) => there.filter((pod) => pod.phase === phase).length;
    if (member.live === this.#observed) member.observedGeneration = member.generation;
    member.instances = this.pods.flatMap((pod, ordinal): InstanceObservation[] =>
      pod === undefined
        ? []
        : [
            {
              name: `xline-${ordinal}`,
              uid: uidOf(ordinal, pod),
              ordinal,
              updated: isNew(pod),
              ready: pod.phase !== "starting",
              terminating: pod.phase === "terminating",
              disrupted: pod.disrupted,
            },
          ],
    );
    member.counts = {
      replicas: there.length,
      ready: count("ready") + count("terminating"),
      available: count("ready"),
      updated: there.filter((pod) => isNew(pod) && pod.phase !== "terminating").length,
      terminating: count("terminating"),
    };
    member.health = this.ready === this.pods.length ? "healthy" : "unhealthy";
  }

  #pod(revision: string, phase: Pod["phase"]): Pod {
    return { revision, phase, disrupted: false, life: this.#lives++ };
  }
}

function uidOf(ordinal: number, { life }: Pod): string {
  return `${ordinal}.${life}`;
}
