/** etcd's own API, as far as its operator needs it: https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway. */
import { isJsonObject, type JsonObject } from "lockstep/sdk";

/** Sends one request of etcd's JSON API to the member at an address; rejects if it does not answer with 200 in time. */
export type Ask = (address: string, path: string, body: JsonObject) => Promise<JsonObject>;

export interface EtcdMember {
  readonly id: string;
  /** The host in its peer URL: a member that has not started yet has no name. */
  readonly address: string;
  readonly isLearner: boolean;
}

/** What etcd says about itself: its leader confirmed the list. */
export interface EtcdView {
  readonly members: readonly EtcdMember[];
  readonly leader: EtcdMember | undefined;
  /** Increases with every election. */
  readonly term: string;
}

/** Reading any key linearizably asks the majority, whether the key exists or not. */
const PROBE_KEY = Buffer.from("operator/probe").toString("base64");

export class Etcd {
  readonly #ask: Ask;
  readonly #addresses: readonly string[];

  /** The addresses in the order in which they are asked: those in the operator's own cluster first. */
  constructor(ask: Ask, addresses: readonly string[]) {
    this.#ask = ask;
    this.#addresses = addresses;
  }

  async view(): Promise<EtcdView> {
    const list = await this.#any("cluster/member/list", { linearizable: true });
    const members = (Array.isArray(list.members) ? list.members : []).filter(isJsonObject).map(parseMember);
    const { leader, raftTerm } = await this.#any("maintenance/status", {});
    return { members, leader: members.find(({ id }) => id === leader), term: String(raftTerm ?? "") };
  }

  /** Whether it votes, and answers for the majority. */
  async takesPart(address: string): Promise<boolean> {
    try {
      const { isLearner } = await this.#ask(address, "maintenance/status", {});
      if (isLearner === true) return false;
      await this.#ask(address, "kv/range", { key: PROBE_KEY });
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Whether the other voters can decide without this one, which leaves the list, or only stops. One or two voters cannot
   * do without one that stops: then all others must answer.
   */
  async canDoWithout(address: string, { members }: EtcdView, does: "stop" | "leave"): Promise<boolean> {
    const voters = members.filter(({ isLearner }) => !isLearner);
    const others = voters.filter((each) => each.address !== address);
    const answers = await Promise.all(others.map((each) => this.takesPart(each.address)));
    const listed = does === "leave" ? others.length : voters.length;
    return answers.filter((is) => is).length >= Math.min(Math.floor(listed / 2) + 1, others.length);
  }

  /** As a learner, which has no vote until it is promoted: a slow start costs no quorum. */
  async add(address: string): Promise<void> {
    await this.#any("cluster/member/add", { peerURLs: [peerUrl(address)], isLearner: true });
  }

  /** etcd refuses it until the learner has caught up. */
  async promote({ id }: EtcdMember): Promise<void> {
    await this.#any("cluster/member/promote", { ID: id });
  }

  async remove({ id, address }: EtcdMember): Promise<void> {
    await this.#any("cluster/member/remove", { ID: id }, address);
  }

  async moveLeader(from: EtcdMember, to: EtcdMember): Promise<void> {
    await this.#ask(from.address, "maintenance/transfer-leadership", { targetID: to.id });
  }

  async #any(path: string, body: JsonObject, except?: string): Promise<JsonObject> {
    const failures: string[] = [];
    for (const address of this.#addresses) {
      if (address === except) continue;
      try {
        return await this.#ask(address, path, body);
      } catch (error) {
        failures.push(`${address}: ${error instanceof Error ? error.message : error}`);
      }
    }
    throw new Error(`no member of etcd answered ${path} (${failures.join("; ")})`);
  }
}

export function peerUrl(address: string): string {
  return `https://${address}:2380`;
}

function parseMember(value: JsonObject): EtcdMember {
  const [url] = Array.isArray(value.peerURLs) ? value.peerURLs : [];
  const address = typeof url === "string" ? new URL(url).hostname : "";
  return { id: typeof value.ID === "string" ? value.ID : "", address, isLearner: value.isLearner === true };
}
