import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonObject, valueAtPointer } from "../runtime/index.ts";
import { applyOverrides, OverrideError } from "./overrides.ts";
import { CONFIG_MAP, cluster, STATEFULSET, yaml } from "./testing/fixtures.ts";

const member1 = cluster("member1");
const CONTAINER = "/spec/template/spec/containers/0";

function policy(
  overriders: string,
  spec = "",
  head = "kind: OverridePolicy\nmetadata: {name: p, namespace: shop}",
): JsonObject {
  return yaml(`
apiVersion: policy.karmada.io/v1alpha1
${head}
spec: {overrideRules: [{overriders: ${overriders}}]${spec}}
`);
}

/** A policy that writes its name into the annotation `order`, so that the last applied one is visible. */
function marker(kind: string, name: string, selectors = "null"): JsonObject {
  const namespace = kind === "OverridePolicy" ? ", namespace: shop" : "";
  return yaml(`
apiVersion: policy.karmada.io/v1alpha1
kind: ${kind}
metadata: {name: ${name}${namespace}}
spec: {resourceSelectors: ${selectors}, overrideRules: [{overriders: {annotationsOverrider: [{operator: add, value: {order: ${name}}}]}}]}
`);
}

function overridden(overriders: string, object = STATEFULSET): JsonObject {
  return applyOverrides(yaml(object), member1, [policy(overriders)]).object;
}

describe("an image overrider", () => {
  it.each([
    ["{component: Registry, operator: replace, value: mirror.local}", "mirror.local/team/db:1.0"],
    ["{component: Registry, operator: add, value: ':5000'}", "registry.example:5000/team/db:1.0"],
    ["{component: Registry, operator: remove}", "team/db:1.0"],
    ["{component: Repository, operator: replace, value: other/db}", "registry.example/other/db:1.0"],
    ["{component: Repository, operator: add, value: -ubi}", "registry.example/team/db-ubi:1.0"],
    ["{component: Tag, operator: replace, value: '2.0'}", "registry.example/team/db:2.0"],
    ["{component: Tag, operator: add, value: -arm64}", "registry.example/team/db:1.0-arm64"],
    ["{component: Tag, operator: remove}", "registry.example/team/db"],
  ])("with %s gives %s", (entry, image) => {
    expect(valueAtPointer(overridden(`{imageOverrider: [${entry}]}`), `${CONTAINER}/image`)).toBe(image);
  });

  it("finds the image of any kind by a predicate's path", () => {
    const custom =
      "{apiVersion: a/v1, kind: XlineCluster, metadata: {name: x, namespace: shop}, spec: {image: a/xline:1}}";
    const entry = "{predicate: {path: /spec/image}, component: Tag, operator: replace, value: '2'}";
    expect(overridden(`{imageOverrider: [${entry}]}`, custom)).toMatchObject({ spec: { image: "a/xline:2" } });
  });

  it("does not change a kind without known containers if no predicate is given", () => {
    const entry = "{component: Tag, operator: replace, value: '2'}";
    expect(overridden(`{imageOverrider: [${entry}]}`, CONFIG_MAP)).toEqual(yaml(CONFIG_MAP));
  });

  it("fails if there is no image at the predicate's path", () => {
    const entry = "{predicate: {path: /spec/nothing}, component: Tag, operator: replace, value: '2'}";
    expect(() => overridden(`{imageOverrider: [${entry}]}`)).toThrow(
      /imageOverrider\[0\] at \/spec\/nothing: there is no image/,
    );
  });
});

describe("command and args overriders", () => {
  it("append words, and remove every equal word, in the named container only", () => {
    const result = overridden(`
      {commandOverrider: [{containerName: db, operator: add, value: [--fast]}, {containerName: other, operator: add, value: [no]}],
       argsOverrider: [{containerName: db, operator: remove, value: [--verbose, --absent]}]}`);
    expect(valueAtPointer(result, `${CONTAINER}/command`)).toEqual(["db", "--fast"]);
    expect(valueAtPointer(result, `${CONTAINER}/args`)).toEqual(["--quorum"]);
  });

  it("create the list if there is none", () => {
    const pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {containers: [{name: c}]}}";
    const result = overridden("{argsOverrider: [{containerName: c, operator: add, value: [-v]}]}", pod);
    expect(valueAtPointer(result, "/spec/containers/0/args")).toEqual(["-v"]);
  });
});

describe("labels and annotations overriders", () => {
  it("add, replace and remove; a missing key is neither replaced nor removed", () => {
    const result = overridden(`
      {labelsOverrider: [
         {operator: add, value: {zone/name: a}}, {operator: replace, value: {app: db2, none: x}}, {operator: remove, value: {gone: x}}],
       annotationsOverrider: [{operator: add, value: {note: hello}}]}`);
    expect(result.metadata).toMatchObject({ labels: { app: "db2", "zone/name": "a" }, annotations: { note: "hello" } });
    expect(result.metadata).not.toHaveProperty("labels.none");
  });

  it("removes a label", () => {
    expect(overridden("{labelsOverrider: [{operator: remove, value: {app: ''}}]}").metadata).toMatchObject({
      labels: {},
    });
  });
});

describe("a field overrider", () => {
  const object = `
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: shop}
data:
  app.json: '{"z": 1, "log": {"level": "info"}}'
  app.yaml: |
    log: {level: info}
    time: 12:30:45
    list: [a]
`;

  it("changes JSON stored as text, and keeps the order of its keys", () => {
    const result = overridden(
      "{fieldOverrider: [{fieldPath: /data/app.json, json: [{subPath: /log/level, operator: replace, value: debug}]}]}",
      object,
    );
    expect(valueAtPointer(result, "/data/app.json")).toBe('{"z":1,"log":{"level":"debug"}}');
  });

  it("changes YAML stored as text, and reads a time of day as text", () => {
    const result = overridden(
      `{fieldOverrider: [{fieldPath: /data/app.yaml, yaml: [
        {subPath: /log/level, operator: replace, value: debug}, {subPath: /list/-, operator: add, value: b}]}]}`,
      object,
    );
    expect(valueAtPointer(result, "/data/app.yaml")).toBe('list:\n- a\n- b\nlog:\n  level: debug\ntime: "12:30:45"\n');
  });

  it("refuses a text in another format, without quoting it", () => {
    const secret =
      "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, stringData: {k: '{pass-word'}}";
    const entry = "{fieldPath: /stringData/k, json: [{subPath: /a, operator: add, value: 1}]}";
    expect(() => overridden(`{fieldOverrider: [${entry}]}`, secret)).toThrow(/not JSON(?!.*pass-word)/);
  });

  it("keeps the digits of a large number in JSON, and refuses to lose them in YAML", () => {
    const config =
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {k: '{\"id\": 12345678901234567890}'}}";
    const entry = (format: string) => `{fieldPath: /data/k, ${format}: [{subPath: /a, operator: add, value: 1}]}`;
    const inJson = overridden(`{fieldOverrider: [${entry("json")}]}`, config);
    expect(inJson.data).toEqual({ k: '{"id":12345678901234567890,"a":1}' });
    expect(() => overridden(`{fieldOverrider: [${entry("yaml")}]}`, config)).toThrow(/too large to be exact/);
  });

  it("needs operations", () => {
    expect(() => overridden("{fieldOverrider: [{fieldPath: /data/app.json}]}", object)).toThrow(/either json or yaml/);
  });
});

describe("the order of overriders in one rule", () => {
  it("is image, command, args, labels, annotations, field, plaintext, regardless of the order in the file", () => {
    const result = overridden(`
      {plaintext: [{path: ${CONTAINER}/image, operator: replace, value: plain:1}, {path: /metadata/labels/app, operator: replace, value: plain}],
       labelsOverrider: [{operator: replace, value: {app: label}}],
       imageOverrider: [{component: Tag, operator: replace, value: '9'}]}`);
    expect(valueAtPointer(result, `${CONTAINER}/image`)).toBe("plain:1");
    expect(valueAtPointer(result, "/metadata/labels/app")).toBe("plain");
  });

  it("adds a first annotation by plaintext: on the hub Karmada's own marks always make the map exist", () => {
    const result = overridden("{plaintext: [{path: /metadata/annotations/note, operator: add, value: hi}]}");
    expect(valueAtPointer(result, "/metadata/annotations/note")).toBe("hi");
  });
});

describe("the order of policies", () => {
  const byLabel = "[{apiVersion: apps/v1, kind: StatefulSet, labelSelector: {matchLabels: {app: db}}}]";
  const byName = "[{apiVersion: apps/v1, kind: StatefulSet, name: db}]";
  const inOrder = [
    marker("ClusterOverridePolicy", "c-all"),
    marker("ClusterOverridePolicy", "b-label", byLabel),
    marker("ClusterOverridePolicy", "a-name", byName),
    marker("OverridePolicy", "h-all"),
    marker("OverridePolicy", "i-all"),
    marker("OverridePolicy", "g-label", byLabel),
    marker("OverridePolicy", "e-name", byName),
    marker("OverridePolicy", "f-name", byName),
  ];

  it("is cluster-wide first, then match-all, label, name, then the policy's name, regardless of the order in the list", () => {
    const names = inOrder.map((each) => valueAtPointer(each, "/metadata/name"));
    fc.assert(
      fc.property(fc.shuffledSubarray(inOrder, { minLength: 1 }), (some) => {
        const { object, applied } = applyOverrides(yaml(STATEFULSET), member1, some);
        const expected = names.filter((name) => some.some((each) => valueAtPointer(each, "/metadata/name") === name));
        expect(applied.map(({ policy }) => policy.split(/[ /]/).at(-1))).toEqual(expected);
        expect(valueAtPointer(object, "/metadata/annotations/order")).toBe(expected.at(-1));
      }),
    );
  });

  it("lets a namespaced policy select by a label that a cluster-wide one has just set", () => {
    const sets = policy(
      "{labelsOverrider: [{operator: add, value: {tier: gold}}]}",
      "",
      "kind: ClusterOverridePolicy\nmetadata: {name: c}",
    );
    const uses = marker(
      "OverridePolicy",
      "o",
      "[{apiVersion: apps/v1, kind: StatefulSet, labelSelector: {matchLabels: {tier: gold}}}]",
    );
    expect(applyOverrides(yaml(STATEFULSET), member1, [uses, sets]).applied).toHaveLength(2);
  });

  it("skips a policy that names another object", () => {
    const other = marker("OverridePolicy", "o", "[{apiVersion: apps/v1, kind: StatefulSet, name: other}]");
    expect(applyOverrides(yaml(STATEFULSET), member1, [other]).applied).toEqual([]);
  });

  it("applies a namespaced policy to its own namespace only", () => {
    const foreign = policy(
      "{labelsOverrider: [{operator: add, value: {a: b}}]}",
      "",
      "kind: OverridePolicy\nmetadata: {name: p, namespace: other}",
    );
    expect(applyOverrides(yaml(STATEFULSET), member1, [foreign]).applied).toEqual([]);
  });
});

describe("rules of one policy", () => {
  it("apply in order, each to the clusters it names; without targetCluster to all", () => {
    const rules = yaml(`
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: p, namespace: shop}
spec:
  overrideRules:
    - overriders: {labelsOverrider: [{operator: add, value: {who: all}}]}
    - targetCluster: {clusterNames: [member2]}
      overriders: {labelsOverrider: [{operator: add, value: {who: second}}]}
`);
    const who = (name: string) =>
      valueAtPointer(applyOverrides(yaml(STATEFULSET), cluster(name), [rules]).object, "/metadata/labels/who");
    expect([who("member1"), who("member2")]).toEqual(["all", "second"]);
  });

  it("may be the deprecated single pair of the spec", () => {
    const old = yaml(`
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: old, namespace: shop}
spec: {targetCluster: {clusterNames: [member1]}, overriders: {labelsOverrider: [{operator: add, value: {old: yes-it-is}}]}}
`);
    const labels = (name: string) => applyOverrides(yaml(STATEFULSET), cluster(name), [old]).object.metadata;
    expect(labels("member1")).toMatchObject({ labels: { old: "yes-it-is" } });
    expect(labels("member2")).toEqual(yaml(STATEFULSET).metadata);
  });
});

describe("a policy that cannot be applied", () => {
  const failing = policy(
    "{plaintext: [{path: /spec/replicas, operator: add, value: 2}, {path: /lockstep-holds-this, operator: remove}]}",
  );

  it("fails closed, naming policy, rule, overrider, path, object and cluster", () => {
    const error = (() => {
      try {
        return applyOverrides(yaml(STATEFULSET), member1, [failing]);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(OverrideError);
    expect(error).toMatchObject({
      policy: "OverridePolicy shop/p",
      rule: "spec.overrideRules[0]",
      overrider: "plaintext[1]",
      path: "/lockstep-holds-this",
      cluster: "member1",
    });
    expect(String(error)).toContain("StatefulSet shop/db for cluster member1");
  });

  it("is not applied when it is Lockstep's own hold", () => {
    const { object, applied } = applyOverrides(yaml(STATEFULSET), member1, [failing], {
      isHold: (each) => valueAtPointer(each, "/metadata/name") === "p",
    });
    expect(applied).toEqual([]);
    expect(object).toEqual(yaml(STATEFULSET));
  });

  it.each([
    "{plaintext: {}}",
    "{plaintext: [x]}",
    "{plaintext: [{path: /a, operator: test}]}",
    "{labelsOverrider: [{operator: add}]}",
  ])("is refused when it is malformed: %s", (overriders) => {
    expect(() => overridden(overriders)).toThrow(OverrideError);
  });

  it("never changes its input", () => {
    const object = yaml(STATEFULSET);
    applyOverrides(object, member1, [policy("{plaintext: [{path: /spec/x, operator: add, value: 1}]}")]);
    expect(object).toEqual(yaml(STATEFULSET));
  });
});
