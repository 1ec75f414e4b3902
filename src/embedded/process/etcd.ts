import { type Clock, isJsonObject, type JsonObject, type Log, valueAt } from "../../runtime/index.ts";
import type { Application, Start } from "../database/index.ts";
import { objectsAt, textAt, textsAt } from "../values.ts";

export interface EtcdOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Where an instance listens; each has its own loopback address. */
  readonly address: (instance: string) => string;
}

const CLIENT_PORT = 2379;
const PEER_PORT = 2380;
/** How often the leader and the member list are polled: etcd does not notify. */
const POLL_MS = 500;
/** A member that does not answer within this time is asked again later. */
const REQUEST_TIMEOUT_MS = 2_000;
/** Every read of a key asks the majority, whether the key exists or not. */
const PROBE_KEY = Buffer.from("lockstep/probe").toString("base64");

interface Member {
  readonly id: string;
  readonly instance: string;
  readonly isLearner: boolean;
}

/** A real etcd: its members are child processes, and requests use its own API. */
export class EtcdApplication implements Application {
  readonly #options: EtcdOptions;
  readonly #up = new Set<string>();
  /** By peer URL: a member that has not started yet has no name. */
  readonly #instances = new Map<string, string>();
  readonly #listeners: (() => void)[] = [];
  readonly #stop = new AbortController();
  readonly #polling: Promise<void>;
  leader: string | undefined;
  membership: { members: string[]; atMs: number } | undefined;

  constructor(options: EtcdOptions) {
    this.#options = options;
    this.#polling = this.#poll();
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  running(instance: string, isUp: boolean): void {
    if (isUp) this.#up.add(instance);
    else this.#up.delete(instance);
  }

  /** As a learner, which has no vote until it has caught up. */
  async join(instance: string, _address: string, forming: boolean): Promise<void> {
    if (forming || (await this.#members()).some((member) => member.instance === instance)) return;
    await this.#askAny("cluster/member/add", { peerURLs: [this.#peerUrl(instance)], isLearner: true });
  }

  async admit(instance: string): Promise<boolean> {
    try {
      const own = (await this.#members()).find((member) => member.instance === instance);
      if (!own) return false;
      if (own.isLearner) await this.#askAny("cluster/member/promote", { ID: own.id });
      await this.#ask(instance, "kv/range", { key: PROBE_KEY });
      return true;
    } catch (error) {
      this.#options.log.debug("an instance is not admitted yet", { instance, reason: String(error) });
      return false;
    }
  }

  async leave(instance: string): Promise<void> {
    const own = (await this.#members()).find((member) => member.instance === instance);
    if (own) await this.#askAny("cluster/member/remove", { ID: own.id }, instance);
  }

  async transfer(to: string): Promise<void> {
    const target = (await this.#members()).find((member) => member.instance === to);
    if (!target || this.leader === undefined) return;
    await this.#ask(this.leader, "maintenance/transfer-leadership", { targetID: target.id });
    await this.#look();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the database is stopped"));
    await this.#polling;
  }

  async #poll(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#stop.signal.aborted) {
      await clock.sleep(POLL_MS, this.#stop.signal).catch(() => {});
      if (!this.#stop.signal.aborted && this.#up.size > 0) await this.#look().catch(() => this.#tell(undefined));
    }
  }

  async #look(): Promise<void> {
    const members = await this.#members();
    const status = await this.#askAny("maintenance/status", {});
    const leader = members.find(({ id }) => id === textAt(status, "leader"))?.instance;
    this.#tell(leader, members);
  }

  #tell(leader: string | undefined, members?: readonly Member[]): void {
    const names = members?.map(({ instance }) => instance);
    const changed = leader !== this.leader || (names && names.join() !== this.membership?.members.join());
    this.leader = leader;
    if (names) this.membership = { members: names, atMs: this.#options.clock.now() };
    if (changed) for (const listener of this.#listeners) listener();
  }

  /** Confirmed by the leader: without `linearizable`, a member answers with what it last heard. */
  async #members(): Promise<Member[]> {
    const answer = await this.#askAny("cluster/member/list", { linearizable: true });
    return objectsAt(answer, "members").map((member) => ({
      id: textAt(member, "ID"),
      instance: this.#instances.get(textsAt(member, "peerURLs")[0] ?? "") ?? textAt(member, "name"),
      isLearner: valueAt(member, "isLearner") === true,
    }));
  }

  #peerUrl(instance: string): string {
    const url = peerUrl(this.#options.address(instance));
    this.#instances.set(url, instance);
    return url;
  }

  /** The first running member that answers. */
  async #askAny(path: string, body: JsonObject, except?: string): Promise<JsonObject> {
    let failure: unknown = new Error("no instance is up");
    for (const instance of this.#up) {
      if (instance === except && this.#up.size > 1) continue;
      try {
        return await this.#ask(instance, path, body);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async #ask(instance: string, path: string, body: JsonObject): Promise<JsonObject> {
    const url = `http://${this.#options.address(instance)}:${CLIENT_PORT}/v3/${path}`;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
    const response = await fetch(url, { method: "POST", body: JSON.stringify(body), signal });
    const answer: unknown = await response.json();
    if (!response.ok || !isJsonObject(answer)) {
      throw new Error(`etcd ${instance} refused ${path}: ${isJsonObject(answer) ? textAt(answer, "message") : answer}`);
    }
    return answer;
  }
}

/** The container of one instance. `program`: the path of etcd on this machine. */
export function etcdContainer(program: string, { name, address, spec, grant }: Start): JsonObject {
  const initialCluster = (grant.initialCluster ?? "")
    .split(",")
    .map((pair) => pair.split("="))
    .map(([member, host]) => `${member}=${peerUrl(host ?? "")}`);
  const client = `http://${address}:${CLIENT_PORT}`;
  const flags = {
    name,
    "data-dir": "$(VOLUME_DATA)/etcd",
    "listen-client-urls": client,
    "advertise-client-urls": client,
    "listen-peer-urls": peerUrl(address),
    "initial-advertise-peer-urls": peerUrl(address),
    "initial-cluster": initialCluster.join(","),
    "initial-cluster-state": grant.initialClusterState ?? "existing",
    "initial-cluster-token": grant.clusterToken ?? "",
  };
  return {
    name: "etcd",
    image: spec.image,
    command: [program, ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`), ...spec.args],
    readinessProbe: { tcpSocket: { host: address, port: CLIENT_PORT }, periodSeconds: 1 },
  };
}

function peerUrl(address: string): string {
  return `http://${address}:${PEER_PORT}`;
}
