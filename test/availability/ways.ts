/** The same rolling restart of five members of etcd, done in three ways, under the same clients. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { KIND } from "../../examples/etcd/operator/operator.ts";
import { ANNOTATIONS, type TopologyCluster } from "../../src/contract/index.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import type { JsonObject } from "../../src/runtime/index.ts";
import { nowUs, Probe, type Verdict } from "./probe.ts";
import { type ClientRecord, type Figures, figuresOf, type Window } from "./record.ts";
import { CLIENTS, ETCD_CLUSTERS, EtcdWorld, NAME } from "./world.ts";

/** What clients saw of one update, and for some seconds before it. */
export interface Seen {
  readonly record: ClientRecord;
  readonly before: Window;
  readonly during: Window;
  readonly figures: { readonly before: Figures; readonly during: Figures };
  readonly verdict: Verdict;
  /** Each member's endpoint, and its name and cluster. */
  readonly members: readonly { readonly endpoint: string; readonly name: string; readonly cluster: string }[];
}

export interface Way {
  /** Members of the fleet. */
  readonly clusters: readonly string[];
  deploy(world: EtcdWorld): Promise<void>;
  /** Returns when it is complete. */
  update(world: EtcdWorld): Promise<void>;
}

const BEFORE_MS = 5_000;
const AFTER_MS = 2_000;
const SIZES = { member1: 2, member2: 2, member3: 1 };
const OLD = "--snapshot-count=10001";
const NEW = "--snapshot-count=10002";
const WRITE = { fieldManager: "test", force: true };

/** Deploys, lets clients work for a while, updates under them, and ends everything. */
export async function see(way: Way, delayMs: number, pauseMs?: number): Promise<Seen> {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-record-"));
  const world = new EtcdWorld(way.clusters);
  let probe: Probe | undefined;
  try {
    await world.start();
    if (delayMs > 0) await world.network.delayAll(delayMs);
    await way.deploy(world);
    const members = world.instances().map(({ name, cluster }) => ({
      endpoint: `${world.network.address(cluster, name)}:2379`,
      name,
      cluster,
    }));
    const endpoints = members.map(({ endpoint }) => endpoint);
    const [proxy, file] = [world.network.proxy(CLIENTS), join(folder, "record")];
    probe = await Probe.start({ endpoints, proxy, file, ...(pauseMs !== undefined && { pauseMs }) });
    // The first second opens connections.
    await sleep(1_000);
    const before = await windowOf(() => sleep(BEFORE_MS));
    const during = await windowOf(async () => {
      await way.update(world);
      await sleep(AFTER_MS);
    });
    const verdict = await probe.finish();
    const record = probe.record();
    const figures = { before: figuresOf(record, before), during: figuresOf(record, during) };
    return { record, before, during, figures, verdict, members };
  } finally {
    await probe?.stop();
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function windowOf(work: () => Promise<void>): Promise<Window> {
  const fromUs = nowUs();
  await work();
  return { fromUs, toUs: nowUs() };
}

/** Lockstep decides which cluster restarts when, and where the leader goes. */
export const COORDINATED: Way = {
  clusters: ["member1", "member2", "member3"],
  async deploy(world) {
    world.controller.start();
    await world.deploy(SIZES, { version: "3.6", args: [OLD] }, { podManagementPolicy: "Parallel" });
  },
  async update(world) {
    await world.template({ version: "3.6", args: [NEW] });
    await world.settled(5, () => world.runsEverywhere(NEW));
  },
};

/**
 * The new spec reaches all clusters, and each cluster's operator, which is the same, restarts its own members one after
 * the other as in a single cluster. Nothing makes it wait for another cluster.
 */
export const UNCOORDINATED: Way = {
  clusters: ["member1", "member2", "member3"],
  async deploy(world) {
    await distribute(world, 1, OLD);
    await world.until("five members serve", () => world.isComplete(5, OLD));
  },
  async update(world) {
    await distribute(world, 2, NEW);
    await world.until("five new members serve", () => world.isComplete(5, NEW));
  },
};

/** The spec with every cluster's part of a fixed topology, to all clusters at once. */
async function distribute(world: EtcdWorld, epoch: number, arg: string): Promise<void> {
  let next = 0;
  const topology: TopologyCluster[] = Object.entries(SIZES).map(([cluster, replicas]) => {
    const ordinals = Array.from({ length: replicas }, () => next++);
    const instances = ordinals.map((ordinal) => `etcd-${ordinal}`);
    const addresses = instances.map((instance) => world.network.address(cluster, instance));
    return {
      cluster,
      replicas,
      ordinals,
      instances,
      addresses,
      states: instances.map(() => (epoch === 1 ? "joining" : "member")),
    };
  });
  const initial = topology.flatMap(({ instances, addresses }) =>
    instances.map((name, at) => `${name}=${addresses[at]}`),
  );
  for (const { cluster, replicas } of topology) {
    const object: KubeObject = {
      apiVersion: KIND.apiVersion,
      kind: ETCD_CLUSTERS.kind,
      metadata: {
        ...NAME,
        annotations: {
          [ANNOTATIONS.cluster]: cluster,
          [ANNOTATIONS.epoch]: String(epoch),
          [ANNOTATIONS.revision]: `revision-${epoch}`,
          [ANNOTATIONS.processor]: "true",
          [ANNOTATIONS.topology]: JSON.stringify(topology),
          [ANNOTATIONS.topologyVersion]: String(epoch),
          [ANNOTATIONS.initialCluster]: initial.join(","),
          [ANNOTATIONS.initialClusterState]: epoch === 1 ? "new" : "existing",
          [ANNOTATIONS.clusterToken]: "uncoordinated",
        },
      },
      spec: { replicas, image: "etcd:3.6", args: [arg] },
    };
    await world.fleet.client(cluster).apply(ETCD_CLUSTERS, object, WRITE);
  }
}

const STATEFUL_SETS = resource({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
});

/** One cluster, and Kubernetes' own rolling update of a StatefulSet. */
export const SINGLE_CLUSTER: Way = {
  clusters: ["single"],
  async deploy(world) {
    await world.fleet.client("single").apply(STATEFUL_SETS, statefulSet(world, OLD), WRITE);
    await world.until("five members serve", () => world.isComplete(5, OLD));
  },
  async update(world) {
    await world.fleet.client("single").apply(STATEFUL_SETS, statefulSet(world, NEW), WRITE);
    await world.until("five new members serve", () => world.isComplete(5, NEW));
  },
};

function statefulSet(world: EtcdWorld, arg: string): KubeObject {
  const address = world.network.address("single", "-$(ORDINAL)").replace("..", ".$(ORDINAL).");
  const host = world.network.listen("etcd-0").replace(".0.1", ".$(ORDINAL).1");
  const peers = [0, 1, 2, 3, 4].map((at) => `etcd-${at}=https://${world.network.address("single", `etcd-${at}`)}:2380`);
  const flags = [
    "--name=$(POD_NAME)",
    "--data-dir=$(VOLUME_DATA)/etcd",
    `--listen-client-urls=http://${host}:2379`,
    `--advertise-client-urls=http://${address}:2379`,
    `--listen-peer-urls=https://${host}:2380`,
    `--initial-advertise-peer-urls=https://${address}:2380`,
    `--initial-cluster=${peers.join(",")}`,
    "--initial-cluster-state=new",
    "--peer-cert-file=$(VOLUME_TLS)/tls.crt",
    "--peer-key-file=$(VOLUME_TLS)/tls.key",
    "--peer-trusted-ca-file=$(VOLUME_TLS)/ca.crt",
    "--peer-client-cert-auth",
    arg,
  ];
  const ordinal = { fieldRef: { fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']" } };
  const container: JsonObject = {
    name: "etcd",
    image: "etcd:3.6",
    env: [{ name: "ORDINAL", valueFrom: ordinal }],
    command: [world.program("3.6"), ...flags],
    readinessProbe: { httpGet: { host, port: 2379, path: "/readyz" }, periodSeconds: 1 },
  };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: NAME,
    spec: {
      replicas: 5,
      serviceName: "etcd",
      podManagementPolicy: "Parallel",
      selector: { matchLabels: { app: "etcd" } },
      template: {
        metadata: { labels: { app: "etcd" } },
        spec: { containers: [container], volumes: [{ name: "tls", secret: { secretName: "etcd-tls" } }] },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
    },
  };
}
