/** What the viewer may do, as the hub answers it (SelfSubjectAccessReview). */

import type { Resource } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import type { ApplicationName } from "../../web/index.ts";
import { APPROVALS, type Hub } from "../hub/hub.ts";
import type { Rights } from "./actions.ts";
import { RESOURCES } from "./kinds.ts";

const PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const DEADLINE_MS = 5_000;

export async function rightsOf(
  hub: Pick<Hub, "transport" | "clock">,
  { type, namespace, name }: ApplicationName,
): Promise<Rights> {
  const { plural, apiVersion } = RESOURCES[type];
  const [change, approve] = await Promise.all([
    mayI(hub, { verb: "patch", resource: plural, group: groupOf(apiVersion), namespace, name }),
    mayI(hub, {
      verb: "create",
      resource: APPROVALS.plural,
      group: groupOf(APPROVALS.apiVersion),
      namespace,
    }),
  ]);
  return { change, approve };
}

/** Whether the viewer may drain clusters; undefined: the hub does not say. */
export function mayDrain(
  hub: Pick<Hub, "transport" | "clock">,
  { plural, apiVersion }: Resource,
): Promise<boolean | undefined> {
  return mayI(hub, { verb: "patch", resource: plural, group: groupOf(apiVersion) });
}

function groupOf(apiVersion: string): string {
  return apiVersion.split("/")[0] ?? "";
}

async function mayI(
  { transport, clock }: Pick<Hub, "transport" | "clock">,
  resourceAttributes: Readonly<Record<string, string>>,
): Promise<boolean | undefined> {
  const deadline = new AbortController();
  const cancel = clock.after(DEADLINE_MS, () => deadline.abort());
  try {
    const { status, body } = await transport.request({
      method: "POST",
      path: PATH,
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes },
      }),
      signal: deadline.signal,
    });
    if (status >= 300) return undefined;
    const answer: unknown = JSON.parse(body);
    const said = isJsonObject(answer) && isJsonObject(answer.status) ? answer.status.allowed : undefined;
    return typeof said === "boolean" ? said : undefined;
  } catch {
    return undefined;
  } finally {
    cancel();
  }
}
