import type { HttpRequest, HttpResponse, HttpStream, JsonObject } from "../../../runtime/index.ts";
import { asStream, type Backend, status } from "../../world/wire.ts";
import { OWN_KIND } from "../hub.ts";
import type { StoredObject } from "../store.ts";
import type { OcmMember, Spoke } from "./spoke.ts";

/** Kind, plural, and whether it is cluster-scoped. */
type Served = readonly [string, string, "cluster"?];

const SERVED: Readonly<Record<string, readonly Served[]>> = {
  "/api/v1": [
    ["Pod", "pods"],
    ["ConfigMap", "configmaps"],
    ["PersistentVolumeClaim", "persistentvolumeclaims"],
  ],
  "/apis/apps/v1": [["StatefulSet", "statefulsets"]],
  "/apis/batch/v1": [["Job", "jobs"]],
  "/apis/rbac.authorization.k8s.io/v1": [["ClusterRole", "clusterroles", "cluster"]],
  [`/apis/${OWN_KIND.apiVersion}`]: [[OWN_KIND.kind, OWN_KIND.plural]],
};

/** A member's API server as a client with its own credentials reaches it: with discovery and dry runs. */
export class MemberDoor implements Backend {
  readonly #member: OcmMember;
  readonly #spoke: Spoke;

  constructor(member: OcmMember, spoke: Spoke) {
    this.#member = member;
    this.#spoke = spoke;
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const { name, reachable, store } = this.#member;
    if (!reachable) return status(503, "ServiceUnavailable", `nothing reaches ${name}`);
    const [path = ""] = request.path.split("?");
    const served = SERVED[path];
    if (served) return ok({ kind: "APIResourceList", groupVersion: "", resources: served.map(resourceOf) });
    if (request.method !== "PATCH") return store.handle(request);
    if (!request.path.includes("dryRun=All")) return status(403, "Forbidden", "only the agent writes here");
    const manifest: StoredObject = JSON.parse(request.body ?? "{}");
    const refusal = this.#spoke.refusal(manifest);
    return refusal === undefined ? ok(manifest) : status(422, "Invalid", refusal);
  }

  async stream(request: HttpRequest): Promise<HttpStream> {
    const { reachable, store } = this.#member;
    return reachable ? store.stream(request) : asStream(await this.handle(request));
  }
}

function resourceOf([kind, name, scope]: Served): JsonObject {
  return { name, kind, namespaced: scope === undefined, verbs: ["get", "list", "watch"] };
}

function ok(body: JsonObject): HttpResponse {
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}
