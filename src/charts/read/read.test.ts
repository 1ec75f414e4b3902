import { describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/index.ts";
import { CHART_LIMITS, type ChartLimits } from "../limits.ts";
import { RefusalError } from "../refusal.ts";
import type { RenderedObject } from "../types.ts";
import { readDocuments, readYaml } from "./documents.ts";
import { skippedHook } from "./hooks.ts";
import { digestOf, objectsOf } from "./objects.ts";
import { readText } from "./thread.ts";

function read(text: string, limits: Partial<ChartLimits> = {}, hasHooks = true): RenderedObject[] {
  const result = readDocuments(text);
  if (result.kind === "invalid") throw new RefusalError("InvalidManifest", result.message, "correct it");
  return objectsOf(result.documents, { hasHooks, namespace: "default", limits: { ...CHART_LIMITS, ...limits } });
}

function refusal(text: string, limits: Partial<ChartLimits> = {}): { reason: string; message: string } {
  try {
    read(text, limits);
  } catch (error) {
    if (error instanceof RefusalError) return { reason: error.reason, message: error.message };
    throw error;
  }
  throw new Error("not refused");
}

const titles = (objects: readonly RenderedObject[]) =>
  objects.map(({ object }) => `${object.kind} ${object.metadata.name}`);
const configMap = (name: string, more = "") => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n${more}`;

describe("manifests", () => {
  it("are read as Kubernetes reads them: YAML 1.1, of two equal keys the last, dates as text", () => {
    const [rendered] = read(`${configMap("a")}data: {mode: 0644, on: yes, at: 2020-01-01, ports: 22:22, x: 1, x: 2}\n`);
    expect(rendered?.object.data).toEqual({ mode: 420, true: true, at: "2020-01-01", ports: "22:22", x: 2 });
  });

  it("may have empty documents, comments and anchors", () => {
    const text = `# only words\n---\n---\n${configMap("a")}data: &d {x: "1"}\nbinaryData: *d\n--- # next\n${configMap("b")}...\n`;
    expect(titles(read(text))).toEqual(["ConfigMap a", "ConfigMap b"]);
  });

  it("that are not YAML are refused, with the template but not with their text", () => {
    const { reason, message } = refusal('---\n# Source: web/templates/a.yaml\nkind: "Secret\npassword: hunter2\n');
    expect(reason).toBe("InvalidManifest");
    expect(message).toMatch(/^web\/templates\/a\.yaml: not valid YAML: /);
    expect(message).not.toContain("hunter2");
  });

  it("are refused for an alias bomb, a value outside JSON, or nesting without an end", () => {
    const bomb = Array.from(
      { length: 12 },
      (_, index) => `x${index}: &x${index} [${index === 0 ? "1" : `*x${index - 1},`.repeat(9)}]`,
    ).join("\n");
    expect(refusal(bomb).message).toContain("not valid YAML");
    expect(refusal(`${configMap("a")}data: {x: .inf}`).message).toContain("JSON cannot express");
    expect(refusal(`${configMap("a")}data: ${"[".repeat(300)}${"]".repeat(300)}`).message).toContain(
      "nested too deeply",
    );
    expect(refusal("just text").message).toBe("document 1 is not an object");
  });

  it("without kind, apiVersion or name are refused, with the template", () => {
    const of = (text: string) => refusal(`---\n# Source: web/templates/a.yaml\n${text}`);
    const place = "web/templates/a.yaml: ";
    expect(of("apiVersion: v1\nmetadata: {name: a}")).toEqual({
      reason: "InvalidManifest",
      message: `${place}the document named 'a' has no kind`,
    });
    expect(of("kind: Pod\nmetadata: {name: a}").message).toBe(`${place}Pod a has no apiVersion`);
    expect(of("kind: Pod\napiVersion: v1\nmetadata: {generateName: a-}").message).toBe(
      `${place}a Pod has no metadata.name`,
    );
    expect(of("kind: Pod\napiVersion: v1\nmetadata: {name: a, labels: {x: 1}}").message).toBe(
      `${place}Pod a: metadata.labels[x] must be text; put quotes around it`,
    );
  });

  it.each([
    ["name", '".."'],
    ["name", '"../../secrets/x"'],
    ["name", '"a%2fb"'],
    ["name", '"a\\nb"'],
    ["name", `"${"a".repeat(254)}"`],
    ["namespace", '"../kube-system"'],
    ["namespace", `"${"a".repeat(64)}"`],
  ])("whose %s is %s are refused: no API server takes it, and it would be part of a path", (field, text) => {
    const other = field === "name" ? "" : "name: a, ";
    const { reason, message } = refusal(`apiVersion: v1\nkind: ConfigMap\nmetadata: {${other}${field}: ${text}}`);
    expect(reason).toBe("InvalidManifest");
    expect(message).toMatch(new RegExp(`^metadata\\.${field} ".{1,85}" of a ConfigMap is not allowed in Kubernetes$`));
  });

  it("whose kind or apiVersion would be part of a path are refused, and unusual names of real kinds are not", () => {
    const metadata = "metadata: {name: a}";
    expect(refusal(`apiVersion: v1/../x\nkind: ConfigMap\n${metadata}`).message).toContain('apiVersion "v1/../x"');
    expect(refusal(`apiVersion: v1\nkind: ../Pod\n${metadata}`).message).toContain('kind "../Pod" of a document');
    const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'system:Auth_x'}";
    expect(titles(read(role))).toEqual(["ClusterRole system:Auth_x"]);
  });

  it("of a List are taken apart", () => {
    const text = `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n- {apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}\n`;
    expect(titles(read(text))).toEqual(["ConfigMap a", "ConfigMap b"]);
  });

  it("that are the same object twice are refused, also with another version or without the namespace", () => {
    const twice = `---\n# Source: w/a.yaml\n${configMap("a")}\n---\n# Source: w/b.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}`;
    expect(refusal(twice)).toEqual({
      reason: "DuplicateObject",
      message: "the source renders ConfigMap default/a twice (w/a.yaml, w/b.yaml)",
    });
    expect(
      read(`${configMap("a")}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}`),
    ).toHaveLength(2);
  });

  it("that are none are refused, so that an application is never emptied by mistake", () => {
    expect(refusal("# nothing\n---\n")).toMatchObject({
      reason: "EmptyRender",
      message: "the source renders no objects",
    });
  });

  it("are refused when there are too many, one is too large, or all together are", () => {
    const three = ["a", "b", "c"].map((name) => configMap(name, `data: {x: ${"y".repeat(100)}}`)).join("\n---\n");
    expect(refusal(three, { objects: 2 })).toEqual({
      reason: "TooLarge",
      message: "the source renders 3 objects, and 2 are allowed",
    });
    expect(refusal(three, { objectBytes: 100 }).message).toMatch(/^ConfigMap a has \d+ bytes, and 100 are allowed/);
    expect(refusal(three, { renderBytes: 300 }).message).toMatch(/^the objects have \d+ bytes together/);
  });
});

describe("rendered objects", () => {
  it("are in apply order: CRDs, Namespaces, what others need, custom resources, webhooks last", () => {
    const kinds = [
      "ValidatingWebhookConfiguration",
      "Widget",
      "Deployment",
      "Service",
      "Namespace",
      "CustomResourceDefinition",
      "ServiceAccount",
      "ConfigMap",
    ];
    const text = kinds.map((kind) => `apiVersion: v1\nkind: ${kind}\nmetadata: {name: x}`).join("\n---\n");
    const objects = read(text);
    expect(objects.map(({ object }) => object.kind)).toEqual([
      "CustomResourceDefinition",
      "Namespace",
      "ServiceAccount",
      "ConfigMap",
      "Service",
      "Deployment",
      "Widget",
      "ValidatingWebhookConfiguration",
    ]);
    expect(objects[0]?.isCrd).toBe(true);
  });

  it("know whether Helm would keep them", () => {
    const text = `${configMap("b")}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/resource-policy: keep}}`;
    expect(read(text).map(({ keep }) => keep)).toEqual([true, false]);
  });

  it("have a digest of content and not of layout", () => {
    const one = digestOf(read(`${configMap("a", "data: {x: v}\n")}---\n${configMap("b")}`));
    const other = digestOf(
      read(`${configMap("b")}---\nkind: ConfigMap\ndata:\n  x: "v"\nmetadata:\n  name: a\napiVersion: v1\n`),
    );
    expect(one).toBe(other);
    expect(digestOf(read(configMap("a")))).not.toBe(one);
  });
});

const hook = (name: string, annotations: string, kind = "Job") =>
  `---\n# Source: web/templates/${name}.yaml\napiVersion: v1\nkind: ${kind}\nmetadata: {name: ${name}, annotations: {${annotations}}}\n`;

describe("hooks", () => {
  it("come last, by weight, then name, then kind, with their events and delete policies", () => {
    const objects = read(
      hook("b", "helm.sh/hook: 'pre-install, pre-upgrade'") +
        hook(
          "a",
          "helm.sh/hook: post-install, helm.sh/hook-weight: '5', helm.sh/hook-delete-policy: 'hook-succeeded, hook-failed'",
        ) +
        hook("c", "helm.sh/hook: test-success, helm.sh/hook-weight: '-10'") +
        hook("b", "helm.sh/hook: post-install", "ConfigMap") +
        `---\n${configMap("z")}`,
    );
    expect(titles(objects)).toEqual(["ConfigMap z", "Job c", "ConfigMap b", "Job b", "Job a"]);
    expect(objects.map(({ hook: found }) => found)).toEqual([
      undefined,
      { events: ["test"], weight: -10, deletePolicies: ["before-hook-creation"] },
      { events: ["post-install"], weight: 0, deletePolicies: ["before-hook-creation"] },
      { events: ["pre-install", "pre-upgrade"], weight: 0, deletePolicies: ["before-hook-creation"] },
      { events: ["post-install"], weight: 5, deletePolicies: ["hook-succeeded", "hook-failed"] },
    ]);
  });

  it("with an unknown name are refused by it", () => {
    expect(refusal(hook("a", "helm.sh/hook: crd-install"))).toEqual({
      reason: "RenderFailed",
      message: 'web/templates/a.yaml: Job a has the unknown Helm hook "crd-install", so helm would leave it out',
    });
    expect(refusal(hook("a", "helm.sh/hook: test, helm.sh/hook-delete-policy: soon")).message).toContain(
      'delete policy "soon"',
    );
  });

  it("that helm left out are found in its messages", () => {
    expect(skippedHook('2026/01/01 info: skipping unknown hook: "crd-install"\n')).toBe("crd-install");
    expect(skippedHook('level=INFO msg="skipping unknown hooks" hookTypes=crd-install')).toBe("crd-install");
    expect(skippedHook('level=INFO msg="skipping unknown hooks" hookTypes="a, b"')).toBe("a, b");
    expect(skippedHook("level=INFO msg=other")).toBeUndefined();
  });

  it("are plain objects outside charts, and may share a name with hooks of other events", () => {
    expect(readDocuments(hook("a", "helm.sh/hook: crd-install")).kind).toBe("read");
    const result = readDocuments(
      hook("a", "helm.sh/hook: test") + hook("a", "helm.sh/hook: pre-install") + hook("a", "x: v"),
    );
    if (result.kind !== "read") throw new Error(result.message);
    const options = { namespace: "default", limits: CHART_LIMITS };
    expect(objectsOf(result.documents, { ...options, hasHooks: true })).toHaveLength(3);
    expect(() => objectsOf(result.documents, { ...options, hasHooks: false })).toThrow("Job a twice");
  });
});

describe("large output", () => {
  it("is read in a thread, with the same result", async () => {
    const text = Array.from(
      { length: 400 },
      (_, index) => `---\n${configMap(`c${index}`, `data: {x: ${"y".repeat(1000)}}\n`)}`,
    ).join("");
    const result = await readText(text, systemClock, new AbortController().signal);
    expect(result).toEqual(readDocuments(text));
    const bad = await readText(`${text}---\nkind: "x`, systemClock, new AbortController().signal);
    expect(bad).toMatchObject({ kind: "invalid", message: expect.stringContaining("not valid YAML") });
  });

  it("is given up when its reader gives up", async () => {
    const controller = new AbortController();
    const reading = readText(`x: ${"y".repeat(300_000)}`, systemClock, controller.signal);
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});

describe("text with an error in each word", () => {
  it.each(["&a ", "!a ", '"a" '])(
    "%j is refused at the first one, without a look at all of it for each",
    (word) => {
      expect(readDocuments(word.repeat(100_000))).toMatchObject({
        kind: "invalid",
        message: expect.stringMatching(/^not valid YAML: .* at line 1, column \d+$/),
      });
    },
    60_000,
  );
});

describe("other YAML", () => {
  it("is its first value, or undefined if it is not YAML", () => {
    expect(readYaml("a: on")).toEqual({ a: true });
    expect(readYaml("")).toBeNull();
    expect(readYaml('"x')).toBeUndefined();
  });
});
