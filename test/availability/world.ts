/**
 * A real etcd over embedded clusters: Lockstep's controller on the hub, the example's operator in every member, and
 * between them a network that can really be cut.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseAllDocuments } from "yaml";
import { KIND, runEtcdOperator } from "../../examples/etcd/operator/operator.ts";
import { EmbeddedFleet } from "../../src/embedded/index.ts";
import { Children, ProcessRuntime } from "../../src/embedded/process/index.ts";
import { PodRecorder } from "../../src/embedded/testing/world.ts";
import { isKubeObject, type KubeClient, type KubeObject, resource } from "../../src/kube/index.ts";
import {
  isJsonObject,
  type JsonObject,
  type Log,
  seededRandom,
  silentLog,
  systemClock,
} from "../../src/runtime/index.ts";
import { ensurePrograms } from "../tools/programs.ts";
import { issuePlaces, type TlsFiles } from "./certificates.ts";
import { Controller } from "./controller.ts";
import { Network } from "./network/network.ts";
import { askPeer } from "./peers.ts";

export const NAME = { namespace: "default", name: "etcd" };
/** Where the clients are. */
export const CLIENTS = "clients";
export type Version = "3.5" | "3.6" | "3.7" | "broken";
const PROGRAMS = { "3.5": "etcd-3.5", "3.6": "etcd", "3.7": "etcd-3.7" } as const;

const CCS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  plural: "crossclusterstatefulsets",
  namespaced: true,
});
export const ETCD_CLUSTERS = resource({ ...KIND, kind: "EtcdCluster", namespaced: true });
const WRITE = { fieldManager: "test", force: true };
/** Nothing that a test waits for takes longer, even on a busy machine. */
export const GIVE_UP_MS = 180_000;
/** Certificates are issued for so many instances of each place. */
const MAX_ORDINALS = 40;

export interface Template {
  readonly version: Version;
  readonly args: readonly string[];
}

export class EtcdWorld {
  readonly fleet: EmbeddedFleet;
  readonly network: Network;
  readonly pods: PodRecorder;
  readonly controller: Controller;
  readonly #members: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), "lockstep-availability-"));
  readonly #children = new Children({ file: join(this.#folder, "processes"), clock: systemClock });
  readonly #runtimes = new Map<string, ProcessRuntime>();
  readonly #operators = new Map<string, { stop: AbortController; running: Promise<void> }>();
  readonly #random = seededRandom(1);
  readonly #log: Log;
  #certificates = new Map<string, TlsFiles>();
  #programs: Readonly<Record<string, string>> = {};

  constructor(members: readonly string[], log: Log = silentLog) {
    this.#members = members;
    this.#log = log;
    this.network = new Network([...members, CLIENTS]);
    this.fleet = new EmbeddedFleet({
      clock: systemClock,
      random: this.#random,
      members,
      trackUpdates: false,
      runtime: (member) => this.#runtime(member),
    });
    this.pods = new PodRecorder(this.fleet);
    this.controller = new Controller(this.fleet, this.#random, log);
  }

  async start(versions: readonly (keyof typeof PROGRAMS)[] = ["3.6"]): Promise<void> {
    const paths = await ensurePrograms(versions.map((version) => PROGRAMS[version]));
    this.#programs = Object.fromEntries(versions.map((version) => [version, paths[PROGRAMS[version]]]));
    await this.network.start();
    const places = this.#members.map((member) => {
      const instances = Array.from({ length: MAX_ORDINALS }, (_, ordinal) =>
        this.network.address(member, `-${ordinal}`),
      );
      // As a client, an instance appears with the address of its place's proxy.
      return [member, [...instances, this.network.proxyHost(member)]] as const;
    });
    this.#certificates = await issuePlaces(new Map(places));
    await this.fleet.start();
    const [definition, customization] = readDefinition();
    await applyAny(this.fleet.client(), definition);
    await applyAny(this.fleet.client(), customization);
    for (const member of this.#members) {
      await applyAny(this.fleet.client(member), definition);
      this.startOperator(member);
    }
  }

  async stop(): Promise<void> {
    await this.controller.stop();
    await Promise.all([...this.#operators.keys()].map((member) => this.stopOperator(member)));
    await this.fleet.stop();
    await this.network.stop();
    this.#children.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  startOperator(member: string): void {
    const stop = new AbortController();
    const options = {
      transport: this.fleet.member(member).entrance.transport(),
      ask: (address: string, path: string, body: JsonObject) => this.network.ask(member, address, path, body),
      clock: systemClock,
      random: this.#random,
      log: this.#log.with({ cluster: member }),
      listen: (instance: string) => this.network.listen(instance),
      command: (image: string) => [this.program(image.split(":")[1] ?? "")],
      // Nothing is mounted here: a process finds its volumes by its environment.
      folder: (volume: string) => `$(VOLUME_${volume.toUpperCase()})`,
    };
    this.#operators.set(member, { stop, running: runEtcdOperator(options, stop.signal) });
  }

  async stopOperator(member: string): Promise<void> {
    const operator = this.#operators.get(member);
    this.#operators.delete(member);
    operator?.stop.abort(new Error("the test stops the operator"));
    await operator?.running;
  }

  /** Its hub, its peers and its clients cannot reach it, nor it them. Inside, everything continues. */
  async cut(member: string): Promise<void> {
    this.fleet.cut(member);
    await this.network.isolate(member);
  }

  async mend(member: string): Promise<void> {
    await this.network.reconnect(member);
    this.fleet.mend(member);
  }

  /** Kills an instance's process; its pod stays, and the node starts it again. */
  kill(instance: string): void {
    process.kill(this.#pid(instance), "SIGKILL");
  }

  /**
   * As if the disk were full until so many processes have failed, one restarted after the other: none of them can write.
   */
  async fillDisk(instance: string, processes: number): Promise<void> {
    const full = new Set<number>();
    await this.until(`${processes} processes of ${instance} met a full disk and ended`, () => {
      const pid = this.#pidOf(instance);
      if (pid !== undefined && !full.has(pid)) {
        const { status, stderr } = spawnSync("prlimit", ["--pid", String(pid), "--fsize=1"]);
        if (status === 0) full.add(pid);
        // It may have ended meanwhile.
        else if (pid === this.#pidOf(instance)) throw new Error(`prlimit failed: ${stderr}`);
      }
      return full.size === processes && (pid === undefined || !full.has(pid));
    });
  }

  #pid(instance: string): number {
    const pid = this.#pidOf(instance);
    if (pid === undefined) throw new Error(`no process of ${instance}`);
    return pid;
  }

  /** Only processes that this world has started are looked at. */
  #pidOf(instance: string): number | undefined {
    const started = JSON.parse(readFileSync(join(this.#folder, "processes"), "utf8")) as { pid: number }[];
    return started.find(({ pid }) => commandLine(pid).includes(`--name=${instance}\0`))?.pid;
  }

  /** What an instance says to a peer, with a certificate of its place or without any. */
  peerAnswer(instance: string, { asMember }: { readonly asMember: boolean }): Promise<string> {
    const cluster = this.instances().find(({ name }) => name === instance)?.cluster ?? "";
    const files = this.#certificates.get(cluster);
    if (!files) throw new Error(`no instance ${instance}`);
    return askPeer(this.network.listen(instance), this.network.proxyHost(cluster), files, asMember);
  }

  /** For good: every process of the cluster is killed, and its API server goes down. */
  async lose(member: string): Promise<void> {
    this.fleet.kill(member);
    await this.stopOperator(member);
    await this.#runtimes.get(member)?.stop();
  }

  async scale(sizes: Readonly<Record<string, number>>, spec: JsonObject = {}): Promise<void> {
    await this.fleet.client().apply(
      CCS,
      {
        apiVersion: CCS.apiVersion,
        kind: CCS.kind,
        metadata: NAME,
        spec: {
          resourceSelector: { apiVersion: KIND.apiVersion, kind: ETCD_CLUSTERS.kind, ...NAME },
          completion: { protocol: "Contract" },
          identity: {
            addressTemplate: "10.{cluster}.{ordinal}.1",
            clusterIDs: Object.fromEntries(
              this.#members.map((member) => [member, String(this.network.number(member))]),
            ),
          },
          revisionSettleSeconds: 0,
          updateStrategy: { type: "RollingUpdate", rollingUpdate: { leaderTransfer: { timeoutSeconds: 30 } } },
          failover: { policy: "Wait", afterSeconds: 10 },
          topology: { clusters: Object.entries(sizes).map(([name, replicas]) => ({ name, replicas })) },
          ...spec,
        },
      },
      WRITE,
    );
  }

  async template({ version, args }: Template): Promise<void> {
    const object: KubeObject = {
      apiVersion: KIND.apiVersion,
      kind: ETCD_CLUSTERS.kind,
      metadata: NAME,
      spec: { replicas: 1, image: `etcd:${version}`, args: [...args] },
    };
    await this.fleet.client().apply(ETCD_CLUSTERS, object, WRITE);
  }

  /** First what holds the template, then the template. */
  async deploy(sizes: Readonly<Record<string, number>>, template: Template, spec: JsonObject = {}): Promise<void> {
    await this.scale(sizes, spec);
    await this.until("the hold is in place", () => this.status().reason === "TemplateMissing");
    await this.template(template);
    await this.settled(Object.values(sizes).reduce((sum, each) => sum + each, 0));
  }

  statefulset(): KubeObject | undefined {
    return this.fleet.hubObject("apps.karmada.io/crossclusterstatefulsets", NAME.namespace, NAME.name);
  }

  status(): JsonObject {
    const object = this.statefulset();
    return { generation: object?.metadata.generation ?? 0, ...(isJsonObject(object?.status) && object.status) };
  }

  /** Settled on the present template, with so many instances. */
  settled(replicas: number, revision?: () => boolean): Promise<void> {
    return this.until(`${replicas} instances are settled`, () => this.isSettled(replicas) && (revision?.() ?? true));
  }

  isSettled(replicas: number): boolean {
    const { phase, readyReplicas, observedGeneration, generation } = this.status();
    return phase === "Settled" && readyReplicas === replicas && observedGeneration === generation;
  }

  /** Every pod runs with this flag or image. */
  runsEverywhere(text: string): boolean {
    return this.instances().every(({ pod }) => JSON.stringify(pod.spec).includes(text));
  }

  instances(): { readonly cluster: string; readonly name: string; readonly pod: KubeObject }[] {
    return this.#members.flatMap((cluster) =>
      this.fleet
        .member(cluster)
        .api.list("/pods")
        .map((pod) => ({ cluster, name: pod.metadata.name, pod })),
    );
  }

  /** So many members exist, all of them with this flag, ready for clients. */
  isComplete(count: number, flag: string): boolean {
    const ready = this.instances().filter(({ pod }) => {
      const isReady = JSON.stringify(pod.status ?? {}).includes('{"type":"Ready","status":"True"');
      return isReady && pod.metadata.deletionTimestamp === undefined && JSON.stringify(pod.spec).includes(flag);
    });
    return ready.length === count;
  }

  /** The path of one version; a version that does not exist does not start. */
  program(version: string): string {
    return this.#programs[version] ?? `etcd-${version}-does-not-exist`;
  }

  /** As clients name them. */
  endpoints(): string[] {
    return this.instances().map(({ name, cluster }) => `${this.network.address(cluster, name)}:2379`);
  }

  /** What a member says, asked from where the clients are. */
  async memberList(): Promise<{ host: string; isLearner: boolean }[]> {
    for (const endpoint of this.endpoints()) {
      const address = endpoint.split(":")[0] ?? "";
      const answer = await this.network
        .ask(CLIENTS, address, "cluster/member/list", { linearizable: true })
        .catch(() => undefined);
      const members = answer && Array.isArray(answer.members) ? answer.members.filter(isJsonObject) : undefined;
      if (!members) continue;
      return members.map(({ peerURLs, isLearner }) => ({
        host: new URL(String(Array.isArray(peerURLs) ? peerURLs[0] : "")).hostname,
        isLearner: isLearner === true,
      }));
    }
    throw new Error("no member answers");
  }

  /** The instance that leads, among those of some clusters. */
  async leader(
    clusters: readonly string[] = this.#members,
  ): Promise<{ readonly cluster: string; readonly name: string } | undefined> {
    const said = (await this.#statuses()).filter(({ cluster }) => clusters.includes(cluster));
    return said.find(({ leader, id }) => leader === id);
  }

  /** So many members name the same leader. */
  async agree(count: number): Promise<boolean> {
    const said = await this.#statuses();
    return said.length === count && said.every(({ leader }) => leader !== "" && leader === said[0]?.leader);
  }

  /** Of the members that answer the clients. */
  async #statuses(): Promise<{ cluster: string; name: string; id: string; leader: string }[]> {
    const said = await Promise.all(
      this.instances().map(async ({ name, cluster }) => {
        const answer = await this.network
          .ask(CLIENTS, this.network.address(cluster, name), "maintenance/status", {})
          .catch(() => undefined);
        const header = isJsonObject(answer?.header) ? answer.header : {};
        return answer && [{ name, cluster, id: String(header.member_id), leader: String(answer.leader ?? "") }];
      }),
    );
    return said.flatMap((each) => each ?? []);
  }

  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = performance.now() + GIVE_UP_MS;
    while (!(await condition())) {
      if (performance.now() > endMs) {
        throw new Error(`still not: ${what}; status ${JSON.stringify(this.status(), null, 1)}\n${this.#logs()}`);
      }
      await sleep(20);
    }
  }

  /** The end of every process' output. */
  #logs(): string {
    return this.instances()
      .map(({ cluster, name, pod }) => `${cluster}/${name}: ${this.#runtimes.get(cluster)?.log(pod).slice(-600)}`)
      .join("\n");
  }

  #runtime(member: string): ProcessRuntime {
    const runtime = new ProcessRuntime({
      folder: join(this.#folder, member),
      clock: systemClock,
      log: this.#log,
      // etcd sends what it says to its peers through the proxy of its place.
      env: { PATH: process.env.PATH ?? "", HTTPS_PROXY: `http://${this.network.proxy(member)}` },
      configMap: () => undefined,
      secret: () => this.#certificates.get(member),
      children: this.#children,
    });
    this.#runtimes.set(member, runtime);
    return runtime;
  }
}

/** Empty if the process has ended. */
function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

function readDefinition(): [KubeObject, KubeObject] {
  const file = new URL("../../examples/etcd/operator/definition.yaml", import.meta.url);
  const [definition, customization] = parseAllDocuments(readFileSync(file, "utf8")).map((each) => each.toJS());
  if (!isKubeObject(definition) || !isKubeObject(customization)) throw new Error(`${file} does not hold two objects`);
  return [definition, customization];
}

async function applyAny(client: KubeClient, object: KubeObject): Promise<void> {
  await client.apply(resource(await client.discovery.resource(object.apiVersion, object.kind)), object, WRITE);
}
