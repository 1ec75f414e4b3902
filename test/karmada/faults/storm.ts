/** The hub's own priority and fairness refuses what the controller asks. */
import type { ClientRequest } from "node:http";
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { CONTROLLER_ACCOUNT } from "../../../src/api/index.ts";
import { accountToken } from "../../stories/people.ts";
import { SYSTEM_NAMESPACE } from "../../stories/world.ts";
import type { KarmadaWorld } from "../world.ts";

const FLOW_CONTROL = "/apis/flowcontrol.apiserver.k8s.io/v1";
const NAME = "lockstep-storm";
/** Takes the controller's requests to the hub away from it: all of them are answered with 429. */
export class Storm {
  #seat: Seat | undefined;

  /** Resolves when requests of the controller are seen to be refused. */
  async begin(world: KarmadaWorld): Promise<void> {
    const before = await refused(world);
    const limited = { nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: { type: "Reject" } };
    await create(world, "prioritylevelconfigurations", { type: "Limited", limited });
    const account = { namespace: SYSTEM_NAMESPACE, name: CONTROLLER_ACCOUNT };
    const everything = {
      subjects: [{ kind: "ServiceAccount", serviceAccount: account }],
      resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    };
    const schema = { priorityLevelConfiguration: { name: NAME }, matchingPrecedence: 2, rules: [everything] };
    await create(world, "flowschemas", schema);
    const seat = await takeSeat(world);
    this.#seat = seat;
    // The controller renews its lease every two seconds: so something of it is refused, however little else it asks.
    await world.until("the controller's requests are refused", async () => {
      return (await refused(world)) - before - seat.refused >= 2;
    });
  }

  async end({ stack }: KarmadaWorld): Promise<void> {
    await stack.hub.request("DELETE", `${FLOW_CONTROL}/flowschemas/${NAME}`);
    this.#seat?.release();
  }
}

async function create({ stack }: KarmadaWorld, path: string, spec: object): Promise<void> {
  const { status, text } = await stack.hub.request("POST", `${FLOW_CONTROL}/${path}`, {
    metadata: { name: NAME },
    spec,
  });
  if (status !== 201 && status !== 409) throw new Error(`${path}: ${status} ${text}`);
}

/** How many requests this priority level has refused. */
async function refused({ stack }: KarmadaWorld): Promise<number> {
  const { text } = await stack.hub.request("GET", "/metrics");
  const series = text.matchAll(/^apiserver_flowcontrol_rejected_requests_total\{([^}]*)\} (\S+)$/gm);
  return [...series].reduce((sum, [, labels = "", value]) => (labels.includes(NAME) ? sum + Number(value) : sum), 0);
}

interface Seat {
  /** How often it was refused itself. */
  readonly refused: number;
  release(): void;
}

/** The uid of the flow schema that a request is counted to. */
function flowOf(url: string, options: { ca: string; headers: Record<string, string> }): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { ...options, agent: false }, (answer) => {
      answer.resume();
      resolve(String(answer.headers["x-kubernetes-pf-flowschema-uid"]));
    });
    asked.on("error", reject);
    asked.end();
  });
}

/**
 * Even without a share, an API server lets one request pass if no other one is in progress. So one is always in progress:
 * its body does not end.
 */
async function takeSeat({ stack, until }: KarmadaWorld): Promise<Seat> {
  const token = await accountToken(stack, SYSTEM_NAMESPACE, CONTROLLER_ACCOUNT);
  const { server, tls } = stack.hub;
  const url = `${server}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`;
  const authorization = `Bearer ${token}`;
  const headers = { authorization, "content-type": "application/json", "content-length": 1_000 };
  const schema = await stack.hub.get(`${FLOW_CONTROL}/flowschemas/${NAME}`);
  await until("the flow schema is in force", async () => {
    const answer = await flowOf(`${server}/version`, { ca: tls.ca, headers: { authorization } });
    return answer === schema?.metadata.uid || answer;
  });
  let isOver = false;
  let refused = 0;
  let current: ClientRequest | undefined;
  /** Resolves when it is answered, which means that it has no seat, or has one no more. */
  const sit = () =>
    new Promise<void>((resolve) => {
      current = request(url, { method: "POST", ca: tls.ca, headers, agent: false }, (answer) => {
        if (answer.statusCode === 429) refused += 1;
        answer.resume();
        resolve();
      });
      current.on("error", () => resolve());
      current.write("{");
    });
  const sitting = (async () => {
    while (!isOver) {
      await sit();
      current?.destroy();
      if (!isOver) await sleep(20);
    }
  })();
  return {
    get refused() {
      return refused;
    },
    release() {
      isOver = true;
      current?.destroy();
      sitting.catch(() => {});
    },
  };
}
