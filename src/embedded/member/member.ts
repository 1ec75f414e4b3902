import { ApiServer, type SchemaCache, type ServerSnapshot } from "../../apiserver/index.ts";
import { type Clock, type Log, type Random, timestamp } from "../../runtime/index.ts";
import { Link } from "../link.ts";
import { LocalApi } from "../local-api.ts";
import { DeploymentController } from "./deployment.ts";
import { JobController } from "./job.ts";
import { Kubelet } from "./kubelet.ts";
import type { OwnerQueue } from "./owner-queue.ts";
import { ReplicaSetController } from "./replicaset.ts";
import { type PodRuntime, SimulatedRuntime } from "./runtime.ts";
import { StatefulSetController } from "./statefulset.ts";

export interface MemberOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly schemas: SchemaCache;
  readonly storage?: ServerSnapshot | undefined;
  readonly podStartMs: number;
  readonly podStopMs: number;
  readonly reactionMs: number;
  readonly trackUpdates: boolean;
  /** Pods are simulated unless a runtime is given. */
  readonly runtime?: PodRuntime | undefined;
  readonly authorizer?: "RBAC" | undefined;
}

/** Large: a member's limit in the fleet is its stated capacity. */
const NODE_RESOURCES = { cpu: "64", memory: "256Gi", pods: "1000" };

/** One member cluster: its API server, the controllers of Kubernetes' own workloads, and a simulated node. */
export class MemberCluster {
  readonly name: string;
  readonly server: ApiServer;
  readonly api: LocalApi;
  /** Its API server as every client reaches it; closed while it is down. */
  readonly entrance: Link;
  readonly #options: MemberOptions;
  readonly #queues: readonly OwnerQueue[];
  readonly #kubelet: Kubelet;

  constructor(options: MemberOptions) {
    const { name, clock, random, log, schemas, storage, trackUpdates, authorizer } = options;
    this.name = name;
    this.#options = options;
    const settings = { name, clock, random, log, schemas, trackUpdates, authorizer };
    this.server = new ApiServer({ ...settings, ...(storage && { storage }) });
    this.api = new LocalApi(this.server);
    this.entrance = new Link(this.server, clock, random);
    const common = { api: this.api, clock, random, log: log.with({ cluster: name }), isUp: () => this.entrance.isOpen };
    const settled = { ...common, reactionMs: options.reactionMs };
    this.#queues = [
      new StatefulSetController(settled).queue,
      new JobController(settled).queue,
      new DeploymentController(settled).queue,
      new ReplicaSetController(settled).queue,
    ];
    const { podStartMs: startMs, podStopMs: stopMs } = options;
    const runtime = options.runtime ?? new SimulatedRuntime({ clock, startMs, stopMs });
    this.#kubelet = new Kubelet({ ...common, node: `${name}-node`, runtime });
    this.server.serveLogs(({ namespace, name: pod }) => this.#kubelet.log(namespace, pod));
  }

  async start(): Promise<void> {
    if (!this.api.get("/nodes", "", `${this.name}-node`)) await this.#createNode();
    for (const queue of this.#queues) queue.start();
    this.#kubelet.start();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#queues.map((queue) => queue.stop()), this.#kubelet.stop()]);
  }

  /** The API server stops answering, and with it the controllers; stored objects are kept. */
  kill(): void {
    this.entrance.set({ closed: `dial tcp: connect to ${this.name}: connection refused` });
  }

  restart(): void {
    this.entrance.mend();
    for (const queue of this.#queues) queue.syncAll();
    this.#kubelet.attendAll();
  }

  async #createNode(): Promise<void> {
    const name = `${this.name}-node`;
    await this.api.create({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels: { "kubernetes.io/hostname": name } },
      spec: {},
    });
    const node = this.api.get("/nodes", "", name);
    if (!node) return;
    const now = timestamp(this.#options.clock.now());
    const ready = {
      type: "Ready",
      status: "True",
      reason: "KubeletReady",
      lastTransitionTime: now,
      lastHeartbeatTime: now,
    };
    await this.api.updateStatus({
      ...node,
      status: {
        capacity: NODE_RESOURCES,
        allocatable: NODE_RESOURCES,
        conditions: [ready],
        nodeInfo: { kubeletVersion: "simulated" },
      },
    });
  }
}
