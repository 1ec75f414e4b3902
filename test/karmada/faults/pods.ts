/** Controllers in processes of their own, with the arguments that they have in pods, so that they can be killed. */
import { join } from "node:path";
import { CONTROLLER_ACCOUNT } from "../../../src/api/index.ts";
import { writeKubeconfig } from "../../../src/apiserver/front/kubeconfig.ts";
import { freePorts } from "../../stack/processes.ts";
import { accountToken } from "../../stories/people.ts";
import { SYSTEM_NAMESPACE } from "../../stories/world.ts";
import type { KarmadaWorld } from "../world.ts";

/** This version, from its sources. */
const PRESENT = ["--import", import.meta.resolve("tsx"), new URL("../../../src/cli/main.ts", import.meta.url).pathname];
const SECRETS = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/secrets`;
const LEADS = /^leader_election_master_status\{[^}]*\} 1$/m;

export interface ControllerPod {
  /** Of its process in the stack. */
  readonly name: string;
  /** Whether its process serves anything. */
  answers(): Promise<boolean>;
  leads(): Promise<boolean>;
  isReady(): Promise<boolean>;
  /** From then on the hub accepts its token no more. */
  revoke(): Promise<void>;
  /** Replaces its kubeconfig by one with another token, as a kubelet does when the Secret has changed. */
  renew(): Promise<void>;
}

/** `program`: Node's arguments for another version. */
export async function startPod(
  world: KarmadaWorld,
  identity: string,
  program?: readonly string[],
): Promise<ControllerPod> {
  const { stack } = world;
  const [port = 0] = await freePorts(1);
  const kubeconfig = join(stack.folder, `${identity}.kubeconfig`);
  const secret = `token-of-${identity}`;
  const renew = async () => {
    const { status, text } = await stack.hub.request("POST", SECRETS, { metadata: { name: secret } });
    if (status !== 201) throw new Error(`${secret}: ${status} ${text}`);
    const token = await accountToken(stack, SYSTEM_NAMESPACE, CONTROLLER_ACCOUNT, secret);
    const { server, tls } = stack.hub;
    await writeKubeconfig(kubeconfig, [{ name: "hub", server, certificateAuthority: tls.ca, credentials: { token } }]);
  };
  await renew();
  const name = `controller-${identity}`;
  stack.processes.start(name, process.execPath, [
    ...(program ?? PRESENT),
    "controller",
    `--kubeconfig=${kubeconfig}`,
    `--identity=${identity}`,
    // Another version may not know it.
    ...(program ? [] : ["--unique-identity"]),
    `--metrics=127.0.0.1:${port}`,
    `--system-namespace=${SYSTEM_NAMESPACE}`,
  ]);
  const ask = async (path: string) => fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
  return {
    name,
    answers: async () => (await ask("/healthz")) !== undefined,
    leads: async () => LEADS.test((await (await ask("/metrics"))?.text()) ?? ""),
    isReady: async () => (await ask("/readyz"))?.status === 200,
    async revoke() {
      const { status, text } = await stack.hub.request("DELETE", `${SECRETS}/${secret}`);
      if (status !== 200) throw new Error(`${secret}: ${status} ${text}`);
    },
    renew,
  };
}
