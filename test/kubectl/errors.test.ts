import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Cluster } from "./cluster.ts";
import { configMap, GADGET_CRD, gadget, object, STATEFUL_SET } from "./manifests.ts";

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.kubectl("apply -f -", GADGET_CRD);
  await cluster.kubectl("wait --for=condition=Established crd/gadgets.example.lockstep.dev --timeout=20s");
  await cluster.namespace("erring");
});
afterAll(() => cluster.close());

const apply = (manifest: string) => cluster.refused("apply -n erring -f -", manifest);

describe("kubectl shows what is wrong with", () => {
  it("a field that does not exist, in a built-in kind", async () => {
    expect(await apply(STATEFUL_SET.replace("replicas: 3", "replcas: 3"))).toContain(
      'StatefulSet in version "v1" cannot be handled as a StatefulSet: strict decoding error: unknown field "spec.replcas"',
    );
    expect(
      await apply(STATEFUL_SET.replace("image: registry.example/web:1", "imagen: registry.example/web:1")),
    ).toContain('unknown field "spec.template.spec.containers[0].imagen"');
  });

  it("a field that does not exist, in a custom kind", async () => {
    expect(await apply(gadget("g", "{size: small, colour: red}"))).toContain(
      'strict decoding error: unknown field "spec.colour"',
    );
  });

  it("the same fields when asked only to warn, or to ignore", async () => {
    const warned = await cluster.run("apply -n erring --validate=warn -f -", {
      stdin: gadget("w", "{size: small, colour: red}"),
    });
    expect([warned.code, warned.stderr]).toEqual([0, 'Warning: unknown field "spec.colour"\n']);
    const ignored = await cluster.run("apply -n erring --validate=ignore -f -", {
      stdin: gadget("i", "{size: small, colour: red}"),
    });
    expect([ignored.code, ignored.stderr]).toEqual([0, ""]);
    expect((await cluster.json("get gadget i -n erring")).spec).toEqual({ size: "small", replicas: 1 });
  });

  it("a kind or version that does not exist", async () => {
    expect(await apply(STATEFUL_SET.replace("kind: StatefulSet", "kind: StatefulSett"))).toContain(
      'no matches for kind "StatefulSett" in version "apps/v1"',
    );
    expect(await apply(STATEFUL_SET.replace("apps/v1", "apps/v7"))).toContain(
      'no matches for kind "StatefulSet" in version "apps/v7"',
    );
  });

  it("a namespace that does not exist", async () => {
    expect(await cluster.refused("create configmap c -n nowhere")).toContain('namespaces "nowhere" not found');
  });

  it("a value of the wrong type", async () => {
    expect(await apply(STATEFUL_SET.replace("replicas: 3", 'replicas: "three"'))).toContain(
      'StatefulSet in version "v1" cannot be handled as a StatefulSet: json: cannot unmarshal string into Go struct field StatefulSetSpec.spec.replicas of type int32',
    );
    expect(await apply(gadget("g", "{size: small, replicas: many}"))).toContain(
      'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
    );
  });

  it("a missing field", async () => {
    expect(await apply(gadget("g", "{replicas: 1}"))).toContain("spec.size: Required value");
    const noSelector = STATEFUL_SET.replace("  selector:\n    matchLabels: {app: web}\n  template", "  template");
    expect(await apply(noSelector)).toContain("spec.selector: Required value");
  });

  it("a value that is none of the allowed ones, or out of bounds", async () => {
    expect(await apply(gadget("g", "{size: tiny}"))).toContain(
      'spec.size: Unsupported value: "tiny": supported values: "small", "large", "huge"',
    );
    expect(await apply(gadget("g", "{size: small, replicas: -1}"))).toContain(
      "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0",
    );
    expect(await apply(STATEFUL_SET.replace("replicas: 3", "replicas: -3"))).toContain(
      "spec.replicas: Invalid value: -3: must be greater than or equal to 0",
    );
  });

  it("a rule that does not hold", async () => {
    expect(await apply(gadget("g", "{size: huge, replicas: 9}"))).toMatch(
      /The Gadget "g" is invalid: spec: Invalid value: (.*: )?a huge gadget has at most 3 replicas; lower spec.replicas or choose another size/,
    );
  });

  it("a field that cannot be changed", async () => {
    await cluster.kubectl("apply -n erring -f -", STATEFUL_SET);
    expect(await apply(STATEFUL_SET.replace("serviceName: web", "serviceName: other"))).toContain(
      "Forbidden: updates to statefulset spec for fields other than",
    );
  });

  it("a name that is no name", async () => {
    expect(await apply(configMap("No_Name", { a: "1" }))).toContain(
      'metadata.name: Invalid value: "No_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters',
    );
  });

  it("a template whose labels the selector does not match", async () => {
    expect(
      await apply(STATEFUL_SET.replace("      labels: {app: web}\n    spec", "      labels: {app: other}\n    spec")),
    ).toContain("`selector` does not match template `labels`");
  });

  it("a definition that is no definition", async () => {
    const broken = GADGET_CRD.replaceAll("gadgets", "widgets").replaceAll("Gadget", "Widget").replace("[gd]", "[wd]");
    expect(await apply(broken.replace("type: object\n        description: A gadget", "description: A gadget"))).toMatch(
      /openAPIV3Schema\.type: .*must not be empty at the root/,
    );
    expect(await apply(broken.replace("self.replicas <= 3", "self.replicsa <= 3"))).toMatch(
      /x-kubernetes-validations.*replicsa|compilation failed/,
    );
    expect(await apply(broken.replace("name: widgets.example", "name: others.example"))).toContain(
      "metadata.name: Invalid value",
    );
  });
});

describe("access through kubectl", () => {
  it("a wrong token gets in nowhere", async () => {
    expect(await cluster.refused("--context=intruder get pods")).toContain("You must be logged in to the server");
  });

  it("a user without grants gets an error that names what is forbidden", async () => {
    await cluster.kubectl("--context=viewer get pods -n erring");
    expect(await cluster.refused("--context=viewer get secrets -n erring")).toContain(
      'secrets is forbidden: User "viewer" cannot list resource "secrets" in API group "" in the namespace "erring"',
    );
    expect(await cluster.refused("--context=viewer delete sts web -n erring")).toContain(
      'statefulsets.apps "web" is forbidden: User "viewer" cannot delete resource "statefulsets" in API group "apps" in the namespace "erring"',
    );
  });

  it("a stale write is refused", async () => {
    await cluster.kubectl("create configmap stale -n erring --from-literal=a=1");
    const old = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "stale", resourceVersion: "1" },
      data: { a: "2" },
    };
    expect(await cluster.refused("replace -n erring -f -", object(old))).toContain("the object has been modified");
  });
});
