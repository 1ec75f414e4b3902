/** The kubeconfig with which the controller reaches the hub: the context's server, and a token of the controller's account. */
import { stringify } from "yaml";
import { CONTROLLER_ACCOUNT } from "../../../api/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../../../runtime/index.ts";
import { CommandError } from "../../errors.ts";
import type { Hub } from "../../hub/hub.ts";

export interface AccountToken {
  readonly systemNamespace: string;
  readonly seconds: number;
  /** Where the controller's pods find the hub; absent: the context's server. */
  readonly server?: string | undefined;
}

const EXAMPLE = "--hub-server https://karmada-apiserver.karmada-system.svc:5443";
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** `ends`: when the hub's answer says that the token ends, which may be sooner than asked for. */
export async function accountKubeconfig(
  hub: Hub,
  { systemNamespace, seconds, server }: AccountToken,
): Promise<{ kubeconfig: string; ends: string }> {
  if (server === undefined && LOOPBACK.test(new URL(hub.server).hostname)) {
    throw new CommandError(
      `the context's server is ${hub.server}, which a pod does not reach: give its address there, such as ${EXAMPLE}`,
    );
  }
  if (server !== undefined && !URL.canParse(server)) {
    throw new CommandError(`--hub-server '${server}' is not a URL; give one such as ${EXAMPLE}`);
  }
  const { token, ends } = await tokenOf(hub, systemNamespace, seconds);
  const { ca, servername, insecureSkipVerify } = hub.tls ?? {};
  const cluster: JsonObject = {
    server: server ?? hub.server,
    ...(ca !== undefined && { "certificate-authority-data": Buffer.from(ca).toString("base64") }),
    ...(servername !== undefined && { "tls-server-name": servername }),
    ...(insecureSkipVerify === true && { "insecure-skip-tls-verify": true }),
  };
  const config: JsonObject = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "hub",
    clusters: [{ name: "hub", cluster }],
    users: [{ name: CONTROLLER_ACCOUNT, user: { token } }],
    contexts: [{ name: "hub", context: { cluster: "hub", user: CONTROLLER_ACCOUNT } }],
  };
  return { kubeconfig: stringify(config, { lineWidth: 0 }), ends };
}

async function tokenOf(hub: Hub, namespace: string, seconds: number): Promise<{ token: string; ends: string }> {
  const account = `${namespace}/${CONTROLLER_ACCOUNT}`;
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: seconds },
  };
  const { status, body } = await hub.transport.request({
    method: "POST",
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${CONTROLLER_ACCOUNT}/token`,
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(request),
  });
  if (status === 404) {
    throw new CommandError(
      `the hub has no account ${account}: apply the hub's set first, with 'lockstep install --apply'`,
    );
  }
  const given = answerOf(body);
  const token = valueAt(given, "status", "token");
  if (typeof token === "string" && token !== "") {
    return { token, ends: String(valueAt(given, "status", "expirationTimestamp") ?? "a time that it does not say") };
  }
  throw new CommandError(
    `the hub gives no token of ${account} (HTTP ${status}): ${given.message ?? "it does not say why"}`,
  );
}

/** Empty if something else than an API server answered. */
function answerOf(body: string): JsonObject {
  try {
    const answer: unknown = JSON.parse(body);
    return isJsonObject(answer) ? answer : {};
  } catch {
    return {};
  }
}
