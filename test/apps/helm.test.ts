import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChartLimits, Rendered, RenderRequest } from "../../src/charts/index.ts";
import { chartArchive } from "../../src/charts/testing/sources.ts";
import type { KubeObject } from "../../src/kube/index.ts";
import { valueAt } from "../../src/runtime/index.ts";
import { chartRequest, never, type RealRenderer, realRenderer, refused, rendered } from "./harness.ts";

let renderer: RealRenderer;
beforeAll(async () => {
  renderer = await realRenderer();
});
afterAll(() => {
  expect(renderer.leftovers()).toEqual([]);
  renderer.stop();
});

const shop = chartArchive("shop");
const odd = chartArchive("odd");
const render = async (request: RenderRequest) => rendered(await renderer.render(request, never));
const refusal = async (request: RenderRequest) => refused(await renderer.render(request, never));
const fault = (name: string, more: Partial<RenderRequest> = {}) => chartRequest(odd, [{ fault: name }], more);
const objectsOf = ({ objects }: Rendered): KubeObject[] => objects.map(({ object }) => object);
const find = (result: Rendered, kind: string, name: string) =>
  objectsOf(result).find((object) => object.kind === kind && object.metadata.name === name);
const password = (result: Rendered) => valueAt(find(result, "Secret", "mine-shop"), "stringData", "password");

describe("a chart", () => {
  it("becomes its objects: CRDs first, Lists taken apart, subcharts included, hooks last and in order", async () => {
    const result = await render(chartRequest(shop));
    expect(
      result.objects.map(
        ({ object, hook }) => `${object.kind} ${object.metadata.name}${hook ? ` (${hook.events})` : ""}`,
      ),
    ).toEqual([
      "CustomResourceDefinition widgets.example.io",
      "ServiceAccount mine-shop",
      "Secret mine-shop",
      "ConfigMap mine-cache",
      "ConfigMap mine-shop",
      "PersistentVolumeClaim mine-shop",
      "Service mine-shop",
      "Deployment mine-shop",
      "ServiceAccount mine-shop-migrate (pre-install,pre-upgrade)",
      "Pod mine-shop-test (test)",
      "Job mine-shop-migrate (pre-install,pre-upgrade)",
    ]);
    expect(result).toMatchObject({
      chartVersion: "1.4.0",
      sourceDigest: expect.stringMatching(/^sha256:/),
      warnings: [],
    });
    expect(result.objects.filter(({ keep }) => keep).map(({ object }) => object.kind)).toEqual([
      "PersistentVolumeClaim",
    ]);
    expect(find(result, "Deployment", "mine-shop")).toMatchObject({
      spec: { template: { spec: { volumes: [{ configMap: { defaultMode: 0o644 } }] } } },
    });
  });

  it("sees its values in layers, the version, the APIs and the kind of release", async () => {
    const layers = [{ replicas: 5, cache: { size: "1Gi" }, extraLabels: { tier: "a" } }, { replicas: 7 }];
    const result = await render(
      chartRequest(shop, layers, { isUpgrade: true, apiVersions: ["example.io/v1", "example.io/v1/Widget"] }),
    );
    expect(find(result, "Deployment", "mine-shop")).toMatchObject({
      metadata: { labels: { tier: "a" } },
      spec: { replicas: 7 },
    });
    expect(find(result, "ConfigMap", "mine-cache")).toMatchObject({ data: { size: "1Gi" } });
    expect(find(result, "ConfigMap", "mine-shop")).toMatchObject({
      data: { upgrade: "true", kubernetes: "v1.36.4", widgets: "true" },
    });
    expect(
      find(await render(chartRequest(shop, [{ cache: { enabled: false } }])), "ConfigMap", "mine-cache"),
    ).toBeUndefined();
  });

  it("of five megabytes is read beside the event loop", async () => {
    expect((await render(fault("many"))).objects).toHaveLength(51);
  });

  it("is rendered once for the same inputs, also by several at a time: random values stay", async () => {
    const request = chartRequest(shop, [{ replicas: 3 }]);
    const [one, other] = await Promise.all([render(request), render(request)]);
    expect(other).toBe(one);
    expect(await render(structuredClone(request))).toBe(one);
    expect(password(await render(chartRequest(shop, [{ replicas: 4 }])))).not.toBe(password(one));
  });
});

describe("lookup", () => {
  it("sees what the application distributed before, so that a generated password stays", async () => {
    const first = await render(chartRequest(shop));
    const second = await render(
      chartRequest(shop, [{ replicas: 9 }], { isUpgrade: true, previousObjects: objectsOf(first) }),
    );
    expect(password(second)).toBe(password(first));
    expect(password(second)).toMatch(/^\w{16}$/);
    const checksum = (result: Rendered) =>
      valueAt(
        find(result, "Deployment", "mine-shop"),
        "spec",
        "template",
        "metadata",
        "annotations",
        "checksum/secret",
      );
    expect(checksum(second)).toBe(checksum(first));
  });

  it("of an object that is not the application's is refused, with template, line, object and remedy", async () => {
    expect(await refusal(fault("foreign"))).toEqual({
      kind: "refused",
      reason: "LookupRefused",
      message:
        "odd/templates/_foreign.tpl:2:10: lookup was refused: Secret kube-system/admin is none of this application's own objects",
      remedy: "give what it looks up as a value; or set 'lookups: Empty' to render without looking anything up",
    });
    expect((await refusal(fault("list"))).message).toMatch(
      /^odd\/templates\/all\.yaml:\d+:\d+: lookup was refused: the list of Node objects/,
    );
    expect((await refusal(fault("unknown-kind"))).message).toContain("no member cluster serves 'nowhere.io/v1'");
  });

  it("sees nothing with Empty, and is refused with Refuse", async () => {
    expect(objectsOf(await render(fault("foreign", { lookups: "Empty" })))).toHaveLength(1);
    const { reason, message } = await refusal(chartRequest(shop, [], { lookups: "Refuse" }));
    expect(reason).toBe("LookupRefused");
    expect(message).toMatch(/^shop\/templates\/_helpers\.tpl:\d+:\d+: lookup was refused: Secret default\/mine-shop/);
    expect(objectsOf(await render(chartRequest(odd, [], { lookups: "Refuse" })))).toHaveLength(1);
  });

  it("that finds nothing and so fails the chart is named in the remedy", async () => {
    const { reason, message, remedy } = await refusal(fault("needs-foreign"));
    expect(reason).toBe("RenderFailed");
    expect(message).toContain("there is no settings map");
    expect(remedy).toBe("correct the chart or its values; its lookup of ConfigMap kube-system/settings found nothing");
  });
});

describe("random output", () => {
  it("of Secrets is kept, without a word", async () => {
    expect((await render(fault("random-secret"))).warnings).toEqual([]);
  });

  it("of pods and names is refused, with template, object, field and remedy; Empty allows it with a warning", async () => {
    const pods = await refusal(fault("random-pods"));
    expect(pods).toMatchObject({
      reason: "NotDeterministic",
      message:
        "odd/templates/all.yaml: Deployment random: spec.template.metadata.annotations[roll/me] differs between two renders of the same inputs",
    });
    expect(pods.remedy).toContain("'lookups: Empty'");
    expect((await refusal(fault("random-name"))).message).toMatch(/ConfigMap random-\d+: metadata\.name differs/);
    expect((await render(fault("random-pods", { lookups: "Empty" }))).warnings).toEqual([
      "Deployment random: spec.template.metadata.annotations[roll/me] differs between two renders of the same inputs; it is kept until then, and a later render restarts its pods or replaces it",
    ]);
  });

  it("of anything else is kept with a warning", async () => {
    expect((await render(fault("random-config"))).warnings).toEqual([
      "ConfigMap plain: data.x differs between two renders of the same inputs; it is kept until then, and a later render changes it",
    ]);
  });

  it("is no fault if the chart generates on install and looks up on upgrade", async () => {
    const first = await render(fault("install-only"));
    const second = await render(fault("install-only", { isUpgrade: true, previousObjects: objectsOf(first) }));
    expect(find(second, "Secret", "once")).toEqual(find(first, "Secret", "once"));
  });
});

describe("a bad chart is refused in helm's own words:", () => {
  it.each([
    ["fails", "RenderFailed", "execution error at (odd/templates/all.yaml:60:6): the value 'fault' must be empty"],
    ["syntax", "RenderFailed", "YAML parse error on odd/templates/all.yaml"],
    ["twice", "DuplicateObject", "the source renders ConfigMap plain twice (odd/templates/all.yaml)"],
    ["no-kind", "InvalidManifest", "odd/templates/all.yaml: the document named 'x' has no kind"],
    [
      "unknown-hook",
      "RenderFailed",
      'an object of the chart has the unknown Helm hook "crd-install", so helm would leave it out',
    ],
    ["nothing", "EmptyRender", "the source renders no objects"],
    ["large", "TooLarge", "odd/templates/all.yaml: ConfigMap large has 5500"],
    ["memory", "TooLarge", "rendering needs more than 2000000 KiB of memory"],
  ])("%s", async (name, reason, message) => {
    const result = await refusal(fault(name));
    expect(result.reason).toBe(reason);
    expect(result.message).toContain(message);
    expect(result.remedy).not.toBe("");
  });

  it("a value of the wrong type", async () => {
    const { reason, message } = await refusal(chartRequest(shop, [{ replicas: "many" }]));
    expect(reason).toBe("RenderFailed");
    expect(message).toContain("values don't meet the specifications of the schema(s) in the following chart(s)");
    expect(message).toContain("at '/replicas': got string, want integer");
  });

  it("a schema that names another document", async () => {
    const schema = JSON.stringify({ properties: { a: { $ref: "file:///etc/passwd" } } });
    expect(await refusal(chartRequest(chartArchive("odd", { "values.schema.json": schema })))).toMatchObject({
      reason: "RenderFailed",
      message: 'odd/values.schema.json refers to another document: "file:///etc/passwd"',
    });
  });

  it("a subchart that is missing", async () => {
    const changes = {
      "charts/cache/Chart.yaml": undefined,
      "charts/cache/values.yaml": undefined,
      "charts/cache/templates/cache.yaml": undefined,
    };
    expect((await refusal(chartRequest(chartArchive("shop", changes)))).message).toContain(
      "found in Chart.yaml, but missing in charts/ directory: cache",
    );
  });

  it("a Kubernetes that is too old, a release name that is none", async () => {
    expect((await refusal(chartRequest(shop, [], { kubeVersion: "v1.20.0" }))).message).toContain(
      "chart requires kubeVersion: >=1.28.0-0",
    );
    const request = chartRequest(shop);
    const named = {
      ...request,
      source: { ...request.source, releaseName: "--post-renderer=/bin/sh" },
    } as RenderRequest;
    expect((await refusal(named)).message).toBe('the release name "--post-renderer=/bin/sh" is not valid');
  });
});

describe("a chart that asks for too much", () => {
  const limited = async (template: string, limits: Partial<ChartLimits>) => {
    const small = await realRenderer({ limits });
    try {
      return refused(
        await small.render(chartRequest(chartArchive("odd", { "templates/large.yaml": template })), never),
      );
    } finally {
      expect(small.leftovers()).toEqual([]);
      small.stop();
    }
  };

  it("is refused when the program has no more memory", async () => {
    const template = '{{ $x := repeat 2000000000 "x" }}';
    expect(await limited(template, { programMemoryKiB: 1_500_000 })).toMatchObject({
      reason: "TooLarge",
      message: "rendering needs more than 1500000 KiB of memory",
    });
  });

  it("is stopped when the program prints too much", async () => {
    const template = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: {{ repeat 3000000 "x" }}}';
    expect(await limited(template, { outputBytes: 2_000_000 })).toMatchObject({
      reason: "TooLarge",
      message: "the output has more than 2000000 bytes",
    });
  });
});

describe("a chart that never ends", () => {
  it("is stopped", async () => {
    const slow = await realRenderer({ limits: { programTimeoutMs: 5_000 } });
    const template = '{{ range until 100000 }}{{ range until 100000 }}{{ $x := sha256sum "x" }}{{ end }}{{ end }}';
    const result = await slow.render(chartRequest(chartArchive("odd", { "templates/slow.yaml": template })), never);
    expect(refused(result)).toMatchObject({
      reason: "RenderFailed",
      message: "helm took longer than 5 s and was stopped",
    });
    expect(slow.leftovers()).toEqual([]);
    slow.stop();
  });
});
