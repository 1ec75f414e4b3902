/**
 * Others than the administrator on the real hub: people with a kubeconfig of their own, and the controller's account.
 */
import type { User } from "../../src/apiserver/index.ts";
import { type ClusterConnection, connectCluster } from "../../src/kube/index.ts";
import { openHttpTransport, systemClock, type Transport } from "../../src/runtime/index.ts";
import type { Stack } from "../stack/ground.ts";

/** Connects as a program of this person would: with the person's own kubeconfig. */
export async function connectAs(stack: Stack, { name, groups }: User): Promise<ClusterConnection> {
  // The API server adds this group itself.
  const own = groups.filter((group) => group !== "system:authenticated");
  return connectCluster({ clock: systemClock, kubeconfig: await stack.kubeconfigOf({ name, groups: own }) });
}

/** A token of a ServiceAccount on the hub; it ends with the Secret in its namespace that it is bound to. */
export async function accountToken(stack: Stack, namespace: string, name: string, secret?: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const boundTo = secret !== undefined && { boundObjectRef: { apiVersion: "v1", kind: "Secret", name: secret } };
  const spec = { expirationSeconds: 7_200, ...boundTo };
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
  const { status, text } = await stack.hub.request("POST", path, request);
  if (status !== 201) throw new Error(`no token for ${namespace}/${name}: ${status} ${text}`);
  const { status: answer }: { status: { token: string } } = JSON.parse(text);
  return answer.token;
}

/** Connects with a token of a ServiceAccount, as a pod would. */
export async function connectAsAccount(
  stack: Stack,
  namespace: string,
  name: string,
): Promise<{ transport: Transport; close(): Promise<void> }> {
  const authorization = `Bearer ${await accountToken(stack, namespace, name)}`;
  const { server, tls } = stack.hub;
  const http = await openHttpTransport({ server, tls: { ca: tls.ca } });
  return {
    transport: {
      request: (each) => http.request({ ...each, headers: { ...each.headers, authorization } }),
      stream: (each) => http.stream({ ...each, headers: { ...each.headers, authorization } }),
    },
    close: () => http.close(),
  };
}
