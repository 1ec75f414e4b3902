import { describe, expect, it } from "vitest";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { definitionOf, registryOf } from "../testing/definitions.ts";
import { DEFINITIONS } from "./built-in.ts";
import { openAPIDocument, openAPIDocuments } from "./document.ts";

const statefulSet = definitionOf({
  group: "apps",
  kind: "StatefulSet",
  subresources: { status: true, scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
});
const thing = definitionOf({
  group: "apps.example.io",
  version: "v1alpha1",
  kind: "Thing",
  builtIn: false,
  openAPISchema: {
    type: "object",
    description: "A thing.",
    properties: { spec: { type: "object", properties: { size: { type: "integer", description: "How large." } } } },
  },
});

interface Document {
  readonly paths: Record<string, Record<string, { parameters?: { name: string }[]; requestBody?: JsonObject }>>;
  readonly components: { schemas: Record<string, JsonObject> };
}
const documentOf = (...definitions: Parameters<typeof openAPIDocument>[0]) =>
  openAPIDocument(definitions) as unknown as Document;

/** Every $ref below a value. */
function references(value: Json | undefined): string[] {
  if (Array.isArray(value)) return value.flatMap(references);
  if (!isJsonObject(value)) return [];
  return [...(typeof value.$ref === "string" ? [value.$ref] : []), ...Object.values(value).flatMap(references)];
}

describe("the OpenAPI document of a group and version", () => {
  it("contains every definition that it refers to", () => {
    const document = documentOf(statefulSet, thing, definitionOf({ group: "", kind: "Pod" }));
    for (const reference of references(document as unknown as JsonObject)) {
      expect(document.components.schemas).toHaveProperty([reference.replace("#/components/schemas/", "")]);
    }
  });

  it("has no definition that refers to a missing one", () => {
    for (const reference of references(DEFINITIONS as JsonObject)) {
      expect(DEFINITIONS).toHaveProperty([reference.replace("#/components/schemas/", "")]);
    }
  });

  it("names each kind's group, version and kind, by which kubectl finds it", () => {
    const { schemas } = documentOf(statefulSet).components;
    expect(schemas["io.k8s.api.apps.v1.StatefulSet"]?.["x-kubernetes-group-version-kind"]).toEqual([
      { group: "apps", version: "v1", kind: "StatefulSet" },
    ]);
    const custom = documentOf(thing).components.schemas["io.example.apps.v1alpha1.Thing"];
    expect(custom).toMatchObject({
      description: "A thing.",
      properties: { spec: { properties: { size: { description: "How large." } } }, apiVersion: { type: "string" } },
    });
  });

  it("declares fieldValidation for patches, so that kubectl leaves validation to the server", () => {
    const paths = documentOf(statefulSet).paths;
    const one = paths["/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}"];
    expect(one?.patch?.parameters?.map((each) => each.name)).toContain("fieldValidation");
    expect(Object.keys(paths)).toContain("/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}/scale");
  });

  it("offers strategic merge patches for built-in kinds only", () => {
    const bodyOf = (document: Document, path: string) => JSON.stringify(document.paths[path]?.patch?.requestBody);
    expect(bodyOf(documentOf(statefulSet), "/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}")).toContain(
      "strategic",
    );
    expect(
      bodyOf(documentOf(thing), "/apis/apps.example.io/v1alpha1/namespaces/{namespace}/things/{name}"),
    ).not.toContain("strategic");
  });

  it("describes a built-in kind without a schema as open", () => {
    const { schemas } = documentOf(definitionOf({ group: "rare.k8s.io", kind: "Rarity" })).components;
    expect(schemas["io.k8s.api.rare.v1.Rarity"]?.["x-kubernetes-preserve-unknown-fields"]).toBe(true);
  });
});

describe("the index", () => {
  const get = (handler: ReturnType<typeof openAPIDocuments>, path: string, kinds = [statefulSet, thing]) =>
    handler({ path, query: new URLSearchParams(), headers: {} }, registryOf(kinds));
  const urlOf = (body: string | undefined, key: string): string =>
    JSON.parse(body ?? "{}").paths[key].serverRelativeURL;

  it("names each document with a hash that changes with the document", () => {
    const before = urlOf(get(openAPIDocuments(), "/openapi/v3")?.body, "apis/apps.example.io/v1alpha1");
    const changed = { ...thing, openAPISchema: { type: "object", description: "Another thing." } };
    const after = urlOf(
      get(openAPIDocuments(), "/openapi/v3", [statefulSet, changed])?.body,
      "apis/apps.example.io/v1alpha1",
    );
    expect(before).toMatch(/^\/openapi\/v3\/apis\/apps\.example\.io\/v1alpha1\?hash=[0-9A-F]{64}$/);
    expect(after).not.toBe(before);
  });

  it("answers for OpenAPI v2 with an empty document, in the requested format", () => {
    const protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    const ask = (accept: string) =>
      openAPIDocuments()(
        { path: "/openapi/v2", query: new URLSearchParams(), headers: { accept } },
        registryOf([thing]),
      );
    expect(ask(protobuf)).toEqual({
      status: 200,
      headers: { "content-type": protobuf.replace("@", ".") },
      body: "\n\u00032.0",
    });
    expect(JSON.parse(ask("application/json")?.body ?? "{}")).toMatchObject({ swagger: "2.0", paths: {} });
  });

  it("lists the documents, and changes with the kinds", () => {
    const handler = openAPIDocuments();
    expect(JSON.parse(get(handler, "/openapi/v3/apis/apps/v1")?.body ?? "{}").openapi).toBe("3.0.0");
    expect(get(handler, "/openapi/v3/apis/apps.example.io/v1alpha1", [statefulSet])?.status).toBe(404);
    expect(get(handler, "/openapi/v3/apis/apps.example.io/v1alpha1")?.status).toBe(200);
  });
});
