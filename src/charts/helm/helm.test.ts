import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { systemClock, systemRandom } from "../../runtime/index.ts";
import type { RenderedObject } from "../types.ts";
import { differencesBetween } from "./determinism.ts";
import { helmError, kustomizeError } from "./message.ts";
import { refuseForeignReferences } from "./schema.ts";
import { withoutSecrets } from "./secrets.ts";
import { describeLookup, StandIn } from "./stand-in.ts";
import { withStandIn } from "./stand-in-server.ts";
import { programWarnings, wordWarnings } from "./warnings.ts";

const object = (kind: string, name: string, more: Record<string, unknown> = {}): KubeObject =>
  ({ apiVersion: kind === "Deployment" ? "apps/v1" : "v1", kind, metadata: { name }, ...more }) as KubeObject;

const OWN = [
  object("Secret", "kept", { stringData: { a: "text" }, data: { b: "Yg==" } }),
  object("Namespace", "mine"),
  { ...object("ConfigMap", "far"), metadata: { name: "far", namespace: "elsewhere" } },
];

function standIn(refuses: (kind: string) => boolean = () => false): StandIn {
  const options = {
    objects: OWN,
    namespace: "default",
    kubeVersion: "v1.36.4",
    apiVersions: ["example.io/v1", "example.io/v1/Widget"],
  };
  return new StandIn({ ...options, refuses: (lookup) => refuses(lookup.kind) });
}

describe("the stand-in for a cluster", () => {
  it("answers with the application's own objects, as an API server stores them", () => {
    const cluster = standIn();
    expect(cluster.answer("/api/v1/namespaces/default/secret/kept", false)).toEqual({
      status: 200,
      body: {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "kept", namespace: "default" },
        data: { a: "dGV4dA==", b: "Yg==" },
      },
    });
    expect(cluster.answer("/api/v1/namespace/mine", false)).toMatchObject({
      status: 200,
      body: { metadata: { name: "mine" } },
    });
    expect(cluster.answer("/api/v1/namespaces/elsewhere/configmap/far", false).status).toBe(200);
    expect(cluster.asked).toEqual([]);
  });

  it("finds nothing else, and remembers what was asked", () => {
    const cluster = standIn();
    expect(cluster.answer("/api/v1/namespaces/kube-system/secret/kept", false)).toMatchObject({
      status: 404,
      body: { reason: "NotFound" },
    });
    expect(cluster.answer("/apis/example.io/v1/namespaces/default/widget", false)).toMatchObject({
      status: 200,
      body: { kind: "WidgetList", items: [] },
    });
    expect(cluster.answer("/api/x", false).status).toBe(404);
    expect(cluster.asked.map(describeLookup)).toEqual([
      "Secret kube-system/kept",
      "the list of Widget objects of namespace default",
      "an object of a kind that no member cluster serves",
    ]);
  });

  it("refuses what its caller names, with words for the user", () => {
    const cluster = standIn((kind) => kind === "Secret");
    expect(cluster.answer("/api/v1/namespaces/default/secret/kept", false)).toMatchObject({
      status: 403,
      body: { message: "Secret default/kept is none of this application's own objects" },
    });
  });

  it("knows the kinds of every cluster, those of the request, and those of its objects", () => {
    const cluster = standIn();
    const kinds = (path: string) =>
      (cluster.answer(path, true).body.resources as { kind: string }[]).map(({ kind }) => kind);
    expect(kinds("/api/v1")).toContain("Secret");
    expect(kinds("/apis/example.io/v1")).toEqual(["Widget"]);
    expect(cluster.answer("/apis/nowhere.io/v1", true)).toMatchObject({
      status: 404,
      body: { message: "no member cluster serves 'nowhere.io/v1'" },
    });
    expect(cluster.answer("/version", true).body).toEqual({ major: "1", minor: "36", gitVersion: "v1.36.4" });
    expect(cluster.answer("/api", true).body).toMatchObject({ versions: ["v1"] });
    expect(JSON.stringify(cluster.answer("/apis", true).body)).toContain('"groupVersion":"apps/v1"');
  });

  it("listens on loopback behind a secret path, for reading only, and no longer than needed", async () => {
    const { url } = await withStandIn(standIn(), systemRandom, async (kubeconfig) => {
      const server: string = JSON.parse(kubeconfig).clusters[0].cluster.server;
      expect(server).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f-]{36}$/);
      const status = async (path: string, method = "GET") => (await fetch(path, { method })).status;
      const secret = "/api/v1/namespaces/default/secret/kept";
      expect(
        await (await fetch(`${server}${secret}`, { headers: { accept: "application/json" } })).json(),
      ).toMatchObject({ kind: "Secret" });
      expect(await status(new URL(secret, server).href)).toBe(404);
      expect(await status(`${server}${secret}`, "DELETE")).toBe(404);
      return { url: server };
    });
    await expect(fetch(`${url}/version`)).rejects.toThrow();
  });
});

describe("two renders", () => {
  const rendered = (...objects: KubeObject[]): RenderedObject[] =>
    objects.map((found) => ({ object: found, keep: false, isCrd: false, template: "t.yaml" }));
  const pods = (value: string) =>
    object("Deployment", "d", { spec: { template: { spec: { containers: [{ name: "c", image: value }] } } } });
  const effects = (one: KubeObject[], other: KubeObject[]) =>
    differencesBetween(rendered(...one), rendered(...other), "default").map(
      ({ object: title, field, effect }) => `${title}: ${field}: ${effect}`,
    );

  it("that are equal have no differences, whatever the order of keys", () => {
    expect(
      effects(
        [pods("a"), object("Secret", "s", { data: { x: "1", y: "2" } })],
        [object("Secret", "s", { data: { y: "2", x: "1" } }), pods("a")],
      ),
    ).toEqual([]);
  });

  it("differ harmlessly in the content of Secrets only", () => {
    const secret = (value: string, type: string) =>
      object("Secret", "s", { type, data: { x: value }, stringData: { y: value } });
    expect(effects([secret("1", "Opaque")], [secret("2", "Opaque")])).toEqual(["Secret s: data.x: Harmless"]);
    expect(effects([secret("1", "Opaque")], [secret("1", "other")])).toEqual(["Secret s: type: Other"]);
  });

  it("restart pods if a pod template differs, and make other objects if a name does", () => {
    expect(effects([pods("a")], [pods("b")])).toEqual([
      "Deployment d: spec.template.spec.containers[0].image: Restart",
    ]);
    expect(effects([object("ConfigMap", "a")], [object("ConfigMap", "b")])).toEqual([
      "ConfigMap a: metadata.name: Restart",
    ]);
    expect(
      effects([object("ConfigMap", "a", { data: { "x.y": "1" } })], [object("ConfigMap", "a", { data: {} })]),
    ).toEqual(["ConfigMap a: data[x.y]: Other"]);
    const cron = (value: string) =>
      object("CronJob", "c", { spec: { jobTemplate: { spec: { template: { x: value } } } } });
    expect(effects([cron("1")], [cron("2")])).toEqual(["CronJob c: spec.jobTemplate.spec.template.x: Restart"]);
  });
});

describe("a values schema", () => {
  const refusalOf = (text: string, path = "web/values.schema.json") =>
    refuseForeignReferences([{ path, bytes: Buffer.from(text) }], systemClock, new AbortController().signal).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  const refusal = (schema: unknown, path?: string) => refusalOf(JSON.stringify(schema), path);

  it("may refer to itself and to the published drafts", async () => {
    expect(
      await refusal({
        $schema: "http://json-schema.org/draft-07/schema#",
        $id: "https://shop.example/values",
        $ref: "#/definitions/a",
      }),
    ).toBeUndefined();
    expect(
      await refusal({
        $schema: "https://json-schema.org/draft/2020-12/schema",
        properties: { id: { type: "string" } },
      }),
    ).toBeUndefined();
  });

  it("is refused if it refers to anything else, also in a subchart", async () => {
    const inner = { properties: { a: [{ $ref: "https://schemas.example/x.json" }] } };
    expect(await refusal(inner, "web/charts/db.tgz/db/values.schema.json")).toBe(
      'web/charts/db.tgz/db/values.schema.json refers to another document: "https://schemas.example/x.json"',
    );
    expect(await refusal({ $ref: "file:///etc/hosts" })).toContain("file:///etc/hosts");
    expect(await refusal({ $ref: "other.json" })).toContain("other.json");
    expect(await refusal({ $schema: "https://schemas.example/own" })).toContain("https://schemas.example/own");
  });

  it("is refused if it cannot be read, however deep it is: helm may read it nevertheless", async () => {
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(500)}1${"}".repeat(500)}`);
    expect(await refusal({ $ref: "file:///etc/hosts", deep })).toContain("file:///etc/hosts");
    expect(await refusalOf('{"$ref": ')).toContain("is not JSON");
    expect(await refusalOf("$ref: file:///etc/hosts")).toContain("file:///etc/hosts");
    expect(await refusalOf(`${"# long\n".repeat(20_000)}$ref: file:///etc/hosts`)).toContain("file:///etc/hosts");
  });
});

describe("a program's message", () => {
  it("is helm's error without its advice and without folders of this machine", () => {
    const stderr =
      "coalesce.go:1: warning: x\nError: cannot load /tmp/render-1/values-0.json: bad\n\nUse --debug flag to render out invalid YAML\n";
    expect(helmError(stderr, { "/tmp/render-1/": "" })).toBe("cannot load values-0.json: bad");
    expect(helmError("panic")).toBe("panic");
    expect(helmError("")).toBe("the program failed without a message");
    expect(helmError(`Error: ${"x".repeat(5000)}`)).toHaveLength(2003);
  });

  it("is kustomize's first error without what only follows from it", () => {
    const stderr =
      "Error: accumulating resources: open /tmp/r/source/site/a.yaml: no such file: must build at directory: '/tmp/r/source/site/a.yaml': file is not directory\n";
    expect(kustomizeError(stderr, { "/tmp/r/source/": "" })).toBe(
      "accumulating resources: open site/a.yaml: no such file",
    );
  });

  it("never shows secret values or the content of the application's Secrets", () => {
    const previous = [object("Secret", "s", { data: { x: Buffer.from("generated-1").toString("base64") } })];
    const values = [{ db: { password: "hunter22", keys: ["first-key"] }, name: "ordinary" }];
    const message = "invalid: hunter22, first-key, generated-1, Z2VuZXJhdGVkLTE=, ordinary";
    expect(withoutSecrets(message, { values }, previous)).toBe("invalid: ***, ***, ***, ***, ordinary");
    // Whatever a Secret calls it is secret.
    const secretValues = [{ name: "ordinary" }];
    expect(withoutSecrets(message, { values, secretValues }, previous)).toBe("invalid: ***, ***, ***, ***, ***");
  });

  it("becomes a warning where helm only warns", () => {
    const stderr =
      "coalesce.go:237: warning: skipped value for shop.a: Not a table.\nwarning: twice\nwarning: twice\nother\n";
    expect(programWarnings(stderr)).toEqual(["warning: skipped value for shop.a: Not a table.", "warning: twice"]);
  });

  it("is a warning of ours if a template uses the time", () => {
    const file = (text: string, path = "web/templates/a.yaml") => ({ path, bytes: Buffer.from(text) });
    expect(wordWarnings([file('day: {{ now | date "2006-01-02" }}')])).toEqual([
      "web/templates/a.yaml uses the current time: a later render may differ",
    ]);
    expect(
      wordWarnings([file("{{/* now */}} now {{ .Values.now }}{{ $now }}"), file("{{ now }}", "web/README.md")]),
    ).toEqual([]);
    expect(wordWarnings([file('{{ "{{ now" }} {{/* }} {{ now */}} {{- .a }}{{ $now := 1 }}')])).toEqual([]);
    expect(wordWarnings([file("{{ .a }} {{- if (now) }}")])).toHaveLength(1);
  });

  it.each(["{{", "{{/*", "{{        ", "{{ now = ", '{{"'])("costs no time in text of %j, a million times", (unit) => {
    const bytes = Buffer.from(unit.repeat(1_000_000));
    expect(wordWarnings([{ path: "web/files/templates/a", bytes }]).length).toBeLessThan(2);
  });
});
