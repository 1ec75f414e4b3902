import type { Grant, LeaderClaim, Observation, PresentObservation } from "../../types/index.ts";

/** One member cluster for tests: it shows what was delivered, and carries it out when the test calls for it. */
export class TestMember {
  live: Grant | null = null;
  generation = 0;
  observedGeneration: number | undefined = 0;
  counts = { replicas: 0, ready: 0, available: 0, updated: 0, terminating: 0 };
  health: PresentObservation["health"] = "healthy";
  report: PresentObservation["report"];
  leader: LeaderClaim = { kind: "elsewhere" };
  instances: PresentObservation["instances"];
  volumes: readonly number[] | undefined;
  /** Runs the application without ever having had a grant. */
  unmanaged = false;
  formerEpoch: number | undefined;
  /** Fields of the snapshot that a test sets by hand. */
  overlay: Partial<PresentObservation> = {};

  /** The dispatch object reached the cluster: spec and annotations are there, its operator has not acted yet. */
  deliver(grant: Grant): void {
    const before = this.live;
    const sameSpec =
      before !== null &&
      before.revision === grant.revision &&
      before.replicas === grant.replicas &&
      before.partition === grant.partition &&
      before.onDelete === grant.onDelete;
    if (!sameSpec && !this.unmanaged) this.generation++;
    this.unmanaged = false;
    if (before && before.revision !== grant.revision) this.counts.updated = 0;
    this.live = grant;
  }

  /** It runs so many instances without a grant; the epoch is that of an earlier life, if there was one. */
  runUnmanaged(replicas: number, epoch?: number): void {
    this.unmanaged = true;
    this.formerEpoch = epoch;
    this.generation = 1;
    this.observedGeneration = 1;
    this.counts = { replicas, ready: replicas, available: replicas, updated: replicas, terminating: 0 };
  }

  /** The controller in the cluster has done all that its grant asks for. */
  settle(): void {
    if (!this.live) return;
    const { replicas, partition, onDelete, epoch, revision } = this.live;
    this.observedGeneration = this.generation;
    const updated = onDelete ? this.counts.updated : replicas - partition;
    this.counts = { replicas, ready: replicas, available: replicas, updated, terminating: 0 };
    this.health = "healthy";
    this.instances = undefined;
    this.report = { epoch, revision, phase: "Done", desired: replicas, updated, ready: replicas };
  }

  remove(): void {
    this.live = null;
    this.counts = { replicas: 0, ready: 0, available: 0, updated: 0, terminating: 0 };
    this.report = undefined;
  }

  observe(): Observation {
    if (this.unmanaged) return this.#present(this.formerEpoch === undefined ? {} : { epoch: this.formerEpoch });
    if (!this.live) return { kind: "absent", ...(this.volumes ? { volumes: this.volumes } : {}) };
    const { epoch, revision, processor, partition, topologyVersion, transferLeaderTo, replicas } = this.live;
    return this.#present({
      epoch,
      revision,
      processor,
      partition,
      topologyVersion,
      replicas,
      ...(transferLeaderTo === undefined ? {} : { transferLeaderTo }),
    });
  }

  #present(live: PresentObservation["live"]): Observation {
    return {
      kind: "present",
      generation: this.generation,
      ...(this.observedGeneration === undefined ? {} : { observedGeneration: this.observedGeneration }),
      live,
      counts: { ...this.counts },
      health: this.health,
      ...(this.report ? { report: this.report } : {}),
      leader: this.leader,
      ...(this.instances ? { instances: this.instances } : {}),
      ...(this.volumes ? { volumes: this.volumes } : {}),
      ...this.overlay,
    };
  }
}
