import { isJsonObject } from "../../runtime/index.ts";
import type { Hub } from "./hub.ts";

const PATH = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const DEADLINE_MS = 10_000;

/**
 * The caller's user name on the hub. Undefined: the hub does not report it (SelfSubjectReview needs Kubernetes 1.28).
 */
export async function whoAmI({ transport, clock }: Pick<Hub, "transport" | "clock">): Promise<string | undefined> {
  const deadline = new AbortController();
  const cancel = clock.after(DEADLINE_MS, () => deadline.abort());
  try {
    const { status, body } = await transport.request({
      method: "POST",
      path: PATH,
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
      signal: deadline.signal,
    });
    return status < 300 ? nameIn(JSON.parse(body)) : undefined;
  } catch {
    return undefined;
  } finally {
    cancel();
  }
}

function nameIn(review: unknown): string | undefined {
  const status = isJsonObject(review) && isJsonObject(review.status) ? review.status : {};
  const name = isJsonObject(status.userInfo) ? status.userInfo.username : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}
