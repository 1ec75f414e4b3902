import type { Headers, HttpResponse, Json, JsonObject } from "../../runtime/index.ts";
import { apiVersionOf } from "../kinds/registry.ts";
import type { DocumentHandler, RegistryView, ResourceDefinition } from "../types.ts";
import { jsonResponse } from "./status.ts";

/** The Kubernetes version whose API this server implements; clients adapt their requests to it. */
export const KUBERNETES_VERSION = "v1.36.4+lockstep";
const VERSION = { major: "1", minor: "36", gitVersion: KUBERNETES_VERSION };

const HEALTH_PATHS = ["/healthz", "/livez", "/readyz"];

/** The whole discovery in one document, in the versions that kubectl requests. */
const AGGREGATED = "as=APIGroupDiscoveryList";
const AGGREGATED_VERSIONS = ["v2", "v2beta1"];

const SUBRESOURCE_VERBS = ["get", "patch", "update"];

/** Answers requests about the server itself: groups, versions, kinds, its own version, its health. */
export const answerDiscovery: DocumentHandler = (request, registry) => {
  const path = request.path.length > 1 ? request.path.replace(/\/$/, "") : request.path;
  if (path === "/") return answer({ paths: documentPaths(registry) });
  if (path === "/version") return answer(versionInfo());
  if (HEALTH_PATHS.includes(path)) return health(path, request.query.has("verbose"));
  if (path === "/api" || path === "/apis") return roots(path, request.headers, registry);

  const [, root, first, second, ...rest] = path.split("/");
  if (rest.length > 0) return undefined;
  if (root === "api" && first !== undefined && second === undefined) return resources(registry, "", first);
  if (root !== "apis" || first === undefined) return undefined;
  if (second !== undefined) return resources(registry, first, second);
  const group = registry.groups().find((each) => each.group === first);
  return group && answer({ kind: "APIGroup", apiVersion: "v1", ...groupEntry(group.group, group.versions) });
};

function roots(path: "/api" | "/apis" | string, headers: Headers, registry: RegistryView): HttpResponse {
  const groups = registry.groups().filter(({ group }) => (group === "") === (path === "/api"));
  const version = aggregatedVersion(headers.accept ?? "");
  if (version !== undefined) {
    const body = {
      kind: "APIGroupDiscoveryList",
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items: groups.map(({ group, versions }) => ({
        metadata: { name: group },
        versions: versions.map((each) => ({
          version: each,
          resources: registry.definitions(group, each).map(aggregatedEntry),
          freshness: "Current",
        })),
      })),
    };
    const type = `application/json;g=apidiscovery.k8s.io;v=${version};${AGGREGATED}`;
    return jsonResponse(200, JSON.stringify(body), { "content-type": type, vary: "Accept" });
  }
  if (path === "/api") {
    const versions = groups.flatMap((group) => group.versions);
    return answer({ kind: "APIVersions", versions: [...versions], serverAddressByClientCIDRs: [] });
  }
  return answer({
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: groups.map(({ group, versions }) => groupEntry(group, versions)),
  });
}

function aggregatedVersion(accept: string): string | undefined {
  for (const range of accept.split(",")) {
    const parameters = range.split(";").map((each) => each.trim());
    if (!parameters.includes(AGGREGATED) || !parameters.includes("g=apidiscovery.k8s.io")) continue;
    const version = AGGREGATED_VERSIONS.find((each) => parameters.includes(`v=${each}`));
    if (version !== undefined) return version;
  }
  return undefined;
}

function groupEntry(group: string, versions: readonly string[]): JsonObject {
  const entries = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: entries, preferredVersion: entries[0] };
}

function resources(registry: RegistryView, group: string, version: string): HttpResponse | undefined {
  const definitions = registry.definitions(group, version);
  if (definitions.length === 0) return undefined;
  return answer({
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: apiVersionOf({ group, version }),
    resources: definitions.flatMap(resourceEntries),
  });
}

function resourceEntries(definition: ResourceDefinition): JsonObject[] {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories } = definition;
  return [
    {
      name: plural,
      singularName: singular,
      namespaced,
      kind,
      verbs: [...verbs],
      ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
      ...(categories.length > 0 && { categories: [...categories] }),
    },
    ...subresourceEntries(definition).map(({ name, responseKind }) => ({
      name: `${plural}/${name}`,
      singularName: "",
      namespaced,
      ...responseKind,
      verbs: SUBRESOURCE_VERBS,
    })),
  ];
}

function aggregatedEntry(definition: ResourceDefinition): JsonObject {
  const { group, version, kind, plural, singular, namespaced, verbs, shortNames, categories } = definition;
  const subresources = subresourceEntries(definition);
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs: [...verbs],
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
    ...(subresources.length > 0 && {
      subresources: subresources.map(({ name, responseKind }) => ({
        subresource: name,
        responseKind: { group, version, ...responseKind },
        verbs: SUBRESOURCE_VERBS,
      })),
    }),
  };
}

function subresourceEntries(definition: ResourceDefinition): { name: string; responseKind: Record<string, Json> }[] {
  return [
    ...(definition.subresources.status ? [{ name: "status", responseKind: { kind: definition.kind } }] : []),
    ...(definition.subresources.scale
      ? [{ name: "scale", responseKind: { group: "autoscaling", version: "v1", kind: "Scale" } }]
      : []),
  ];
}

function documentPaths(registry: RegistryView): string[] {
  const groups = registry.groups().flatMap(({ group, versions }) => {
    const root = group === "" ? "/api" : `/apis/${group}`;
    return [root, ...versions.map((version) => `${root}/${version}`)];
  });
  return [...groups, "/apis", ...HEALTH_PATHS, "/openapi/v3", "/version"].sort();
}

function versionInfo(): JsonObject {
  // Clients decode these fields, although a development server has no real build.
  const build = {
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "",
  };
  return { ...VERSION, ...build, platform: "lockstep/embedded" };
}

function health(path: string, verbose: boolean): HttpResponse {
  const body = verbose ? `[+]ping ok\n${path.slice(1)} check passed\n` : "ok";
  return { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body };
}

function answer(body: JsonObject): HttpResponse {
  return jsonResponse(200, JSON.stringify(body));
}
