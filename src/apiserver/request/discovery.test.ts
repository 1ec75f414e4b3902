import { describe, expect, it } from "vitest";
import { definitionOf, registryOf } from "../testing/definitions.ts";
import { answerDiscovery } from "./discovery.ts";

const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
const registry = registryOf([
  definitionOf({ group: "", kind: "Pod", shortNames: ["po"], categories: ["all"], subresources: { status: true } }),
  definitionOf({ group: "", kind: "Namespace", namespaced: false }),
  definitionOf({ group: "apps", kind: "StatefulSet", subresources: { status: true, scale } }),
  definitionOf({ group: "example.io", version: "v1alpha1", kind: "Thing", builtIn: false }),
]);

function get(pathAndQuery: string, accept = "application/json") {
  const [path = "", query = ""] = pathAndQuery.split("?");
  return answerDiscovery({ path, query: new URLSearchParams(query), headers: { accept } }, registry);
}

const json = (path: string, accept?: string) => JSON.parse(get(path, accept)?.body ?? "null");

describe("discovery", () => {
  it("lists the core versions and the groups separately", () => {
    expect(json("/api")).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
    expect(json("/apis").groups.map((each: { name: string }) => each.name)).toEqual(["apps", "example.io"]);
    expect(json("/apis/example.io")).toMatchObject({
      kind: "APIGroup",
      name: "example.io",
      preferredVersion: { groupVersion: "example.io/v1alpha1", version: "v1alpha1" },
    });
  });

  it("lists a version's kinds and their subresources", () => {
    const { resources, groupVersion } = json("/apis/apps/v1");
    expect(groupVersion).toBe("apps/v1");
    expect(resources.map((each: { name: string }) => each.name)).toEqual([
      "statefulsets",
      "statefulsets/status",
      "statefulsets/scale",
    ]);
    expect(resources[2]).toMatchObject({ group: "autoscaling", version: "v1", kind: "Scale" });
    expect(json("/api/v1/").resources[0]).toMatchObject({
      name: "pods",
      shortNames: ["po"],
      categories: ["all"],
      namespaced: true,
    });
  });

  it.each(["v2", "v2beta1"])(
    "returns everything at once to a client that requests aggregated discovery %s",
    (version) => {
      const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
      const answer = get("/apis", `${type},application/json`);
      expect(answer?.headers["content-type"]).toBe(type);
      const body = JSON.parse(answer?.body ?? "");
      expect(body.apiVersion).toBe(`apidiscovery.k8s.io/${version}`);
      expect(body.items[0]).toMatchObject({
        metadata: { name: "apps" },
        versions: [
          {
            version: "v1",
            freshness: "Current",
            resources: [
              {
                resource: "statefulsets",
                responseKind: { group: "apps", version: "v1", kind: "StatefulSet" },
                scope: "Namespaced",
                subresources: [
                  { subresource: "status", responseKind: { group: "apps", version: "v1", kind: "StatefulSet" } },
                  { subresource: "scale", responseKind: { group: "autoscaling", version: "v1", kind: "Scale" } },
                ],
              },
            ],
          },
        ],
      });
      expect(JSON.parse(get("/api", type)?.body ?? "").items[0].versions[0].resources[1].scope).toBe("Cluster");
    },
  );

  it("reports its version and health", () => {
    expect(json("/version")).toMatchObject({ major: "1", gitVersion: expect.stringMatching(/^v1\.\d+\.\d+/) });
    expect(get("/healthz")?.body).toBe("ok");
    expect(get("/readyz?verbose")?.body).toContain("readyz check passed");
    expect(json("/").paths).toContain("/apis/apps/v1");
  });

  it.each([
    "/api/v2",
    "/apis/unknown",
    "/apis/apps/v9",
    "/api/v1/pods",
    "/apis/apps/v1/statefulsets",
    "/metrics",
    "/healthz/x",
  ])("does not answer %s", (path) => expect(get(path)).toBeUndefined());
});
