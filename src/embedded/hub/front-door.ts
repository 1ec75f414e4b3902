/** What Karmada adds in front of the hub's API server: deletion protection, and the proxy to each cluster. */
import type { Route, ServerRequest } from "../../apiserver/index.ts";
import type { HttpResponse, HttpStream } from "../../runtime/index.ts";
import { asStream, type Backend, status } from "../link.ts";
import type { LocalApi } from "../local-api.ts";
import { KARMADA } from "./kinds.ts";

const DENIED =
  'admission webhook "resourcedeletionprotection.karmada.io" denied the request: ' +
  `This resource is protected, please make sure to remove the label: ${KARMADA.deletionProtected}`;

/** Refuses to delete objects with the protection label, for every user. */
export class DeletionProtection implements Backend {
  readonly #next: Backend;
  readonly #api: LocalApi;

  constructor(next: Backend, api: LocalApi) {
    this.#next = next;
    this.#api = api;
  }

  async handle(request: ServerRequest): Promise<HttpResponse> {
    if (request.method === "DELETE" && this.#isProtected(request.path)) return status(403, "Forbidden", DENIED);
    return this.#next.handle(request);
  }

  stream(request: ServerRequest): Promise<HttpStream> {
    return this.#next.stream(request);
  }

  #isProtected(target: string): boolean {
    const [path = ""] = target.split("?");
    const segments = path
      .split("/")
      .filter((segment) => segment !== "")
      .map(decodeURIComponent);
    const group = segments[0] === "apis" ? (segments[1] ?? "") : "";
    const rest = segments.slice(segments[0] === "apis" ? 3 : 2);
    const isNamespaced = rest[0] === "namespaces" && rest.length > 2;
    const namespace = isNamespaced ? (rest[1] ?? "") : "";
    const [plural = "", name] = isNamespaced ? rest.slice(2) : rest;
    const resource = `${group}/${plural}`;
    const concerned =
      name === undefined ? this.#api.list(resource, namespace) : [this.#api.get(resource, namespace, name)];
    return concerned.some((object) => object?.metadata.labels?.[KARMADA.deletionProtected] === "Always");
  }
}

/** `/apis/cluster.karmada.io/v1alpha1/clusters/NAME/proxy/...`: the member's API server, through the hub. */
export function clusterProxy(cluster: string, member: Backend, hasTunnel: () => boolean): Route {
  const prefix = `/apis/cluster.karmada.io/v1alpha1/clusters/${cluster}/proxy/`;
  const below = (request: ServerRequest): ServerRequest | HttpResponse => {
    const path = request.path.slice(prefix.length - 1) || "/";
    if (!hasTunnel()) return status(500, "InternalError", `API endpoint of cluster ${cluster} should not be empty`);
    // Karmada's aggregated API server refuses it for every connect subresource.
    if (/[?&]dryRun=/.test(path)) return status(400, "BadRequest", "dryRun is not supported");
    return { ...request, path };
  };
  return {
    prefix,
    async handle(request) {
      const target = below(request);
      return "path" in target ? member.handle(target) : target;
    },
    async stream(request) {
      const target = below(request);
      return "path" in target ? member.stream(target) : asStream(target);
    },
  };
}
