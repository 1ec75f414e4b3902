import { type KubeClient, type KubeObject, NotFoundError, StatusError, UnknownKindError } from "../../kube/index.ts";
import type { DryRun } from "../port.ts";
import { MEMBER_TIMEOUT_MS } from "./live-member.ts";

/** Asks a member's own API server, with its schemas and admission, whether it would take an object. Changes nothing. */
export async function dryRunOn(
  client: KubeClient,
  cluster: string,
  manifest: KubeObject,
  fieldManager: string,
): Promise<DryRun> {
  try {
    const kind = await client.discovery.resource(manifest.apiVersion, manifest.kind);
    const options = { dryRun: true, strict: true, force: true, timeoutMs: MEMBER_TIMEOUT_MS };
    await client.apply(kind, manifest, { ...options, fieldManager });
    return { kind: "accepted" };
  } catch (error) {
    const message = `${cluster}: ${error instanceof Error ? error.message : String(error)}`;
    if (isRefusal(error)) return { kind: "refused", message };
    // Its kind or its namespace is not there yet: the same application may bring it.
    const isTooEarly = error instanceof UnknownKindError || error instanceof NotFoundError;
    return { kind: "unknown", message, ...(isTooEarly && { isTooEarly }) };
  }
}

/** How Kubernetes' authorizer, and the check of roles, say that the writer lacks a right; admission says 403 as well. */
const MISSING_RIGHT = / cannot \w+ resource | is attempting to grant /;

/** How server-side apply says that the kind has no such field. It answers with code 500. */
const UNKNOWN_FIELD = /field not declared in schema/;

/** The server has checked the object and refuses it; every other error has nothing to do with the object. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof StatusError)) return false;
  const { code } = error.status;
  if (code === 403) return !MISSING_RIGHT.test(error.message);
  return (code === 500 && UNKNOWN_FIELD.test(error.message)) || code === 400 || code === 409 || code === 422;
}
