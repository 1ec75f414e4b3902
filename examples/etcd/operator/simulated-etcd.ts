/** An etcd whose members are simulated pods, for the operator's test: it has members, learners, a leader and a quorum. */
import type { JsonObject } from "lockstep/sdk";
import type { Ask } from "./etcd.ts";

interface Member {
  readonly id: string;
  readonly address: string;
  isLearner: boolean;
}

export interface SimulatedPod {
  readonly command: readonly string[];
  readonly isReady: boolean;
}

export class SimulatedEtcd {
  readonly #pods: () => readonly SimulatedPod[];
  #members: Member[] = [];
  #leader: string | undefined;
  #ids = 0;
  #term = 0;
  /** Every change of the member list and the leader, in order. */
  readonly history: string[] = [];
  /** Addresses of members that run and reach no other. */
  readonly cutOff = new Set<string>();
  /** Addresses of members that serve, and whose answers to the operator come too late. */
  readonly late = new Set<string>();
  /** Addresses of learners that have not caught up. */
  readonly behind = new Set<string>();

  constructor(pods: () => readonly SimulatedPod[]) {
    this.#pods = pods;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  get leader(): string | undefined {
    this.#elect();
    return this.#members.find(({ id }) => id === this.#leader)?.address;
  }

  readonly ask: Ask = async (address, path, body) => {
    this.#form();
    this.#elect();
    if (!this.#isUp(address)) throw new Error("connection refused");
    if (this.late.has(address)) throw new Error("no answer in time");
    const own = this.#members.find((each) => each.address === address);
    if (!own) throw new Error("the member was removed");
    if (path === "maintenance/status") {
      return { leader: this.#leader ?? "0", raftTerm: String(this.#term), isLearner: own.isLearner };
    }
    if (this.#leader === undefined) throw new Error("no leader");
    if (path === "cluster/member/list") {
      return {
        members: this.#members.map((each) => ({
          ID: each.id,
          peerURLs: [`https://${each.address}:2380`],
          isLearner: each.isLearner,
        })),
      };
    }
    return this.#change(path, body);
  };

  #change(path: string, body: JsonObject): JsonObject {
    const member = this.#members.find(({ id }) => id === body.ID);
    switch (path) {
      case "kv/range":
        return {};
      case "cluster/member/add": {
        const [url] = Array.isArray(body.peerURLs) ? body.peerURLs : [];
        const address = new URL(String(url)).hostname;
        if (this.#members.some((each) => each.address === address)) throw new Error("peer URLs already exist");
        this.#members.push({ id: String(++this.#ids), address, isLearner: body.isLearner === true });
        this.history.push(`add ${address}`);
        return {};
      }
      case "cluster/member/promote":
        if (!member || !this.#isUp(member.address) || this.behind.has(member.address)) {
          throw new Error("can only promote a learner that is in sync");
        }
        member.isLearner = false;
        this.history.push(`promote ${member.address}`);
        return {};
      case "cluster/member/remove":
        if (!member) throw new Error("member not found");
        this.#members = this.#members.filter((each) => each !== member);
        this.history.push(`remove ${member.address}`);
        return {};
      case "maintenance/transfer-leadership":
        this.#lead(String(body.targetID));
        return {};
      default:
        throw new Error(`unknown request ${path}`);
    }
  }

  /** The first pods found it. */
  #form(): void {
    if (this.#members.length > 0) return;
    const founder = this.#pods().find(({ command }) => command.includes("--initial-cluster-state=new"));
    const listed = founder && flag(founder, "initial-cluster");
    for (const pair of listed?.split(",") ?? []) {
      const address = new URL(pair.split("=")[1] ?? "").hostname;
      this.#members.push({ id: String(++this.#ids), address, isLearner: false });
    }
  }

  #elect(): void {
    const voters = this.#members.filter(({ isLearner }) => !isLearner);
    const up = voters.filter(({ address }) => this.#isUp(address));
    if (up.length <= voters.length / 2) this.#leader = undefined;
    else if (!up.some(({ id }) => id === this.#leader)) this.#lead(up[0]?.id);
  }

  #lead(id: string | undefined): void {
    this.#leader = id;
    this.#term++;
    const address = this.#members.find((each) => each.id === id)?.address;
    if (address !== undefined) this.history.push(`lead ${address}`);
  }

  #isUp(address: string): boolean {
    if (this.cutOff.has(address)) return false;
    return this.#pods().some(
      (pod) => pod.isReady && flag(pod, "initial-advertise-peer-urls")?.includes(`//${address}:`),
    );
  }
}

function flag({ command }: SimulatedPod, name: string): string | undefined {
  return command.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
}
