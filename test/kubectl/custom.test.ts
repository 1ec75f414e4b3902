import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Cluster } from "./cluster.ts";
import { GADGET_CRD, gadget, object } from "./manifests.ts";

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
});
afterAll(() => cluster.close());

const established = (name: string) => cluster.kubectl(`wait --for=condition=Established crd/${name} --timeout=20s`);

describe("a custom kind", () => {
  beforeAll(async () => {
    await cluster.namespace("gadgets");
    await cluster.kubectl("apply -f -", GADGET_CRD);
    await established("gadgets.example.lockstep.dev");
    await cluster.kubectl(
      "apply -n gadgets -f -",
      gadget("one", "{size: large, parts: [{name: wheel, weight: 5}, {name: axle}]}"),
    );
  });

  it("is found by each of its names and its category", async () => {
    for (const name of [
      "gadgets",
      "gadget",
      "gd",
      "gadgets.example.lockstep.dev",
      "gadgets.v1alpha1.example.lockstep.dev",
    ]) {
      expect(await cluster.kubectl(`get ${name} one -n gadgets -o name`)).toBe("gadget.example.lockstep.dev/one\n");
    }
    expect(await cluster.kubectl("get all -n gadgets -o name")).toContain("gadget.example.lockstep.dev/one");
    expect(await cluster.kubectl("api-resources --api-group=example.lockstep.dev")).toMatch(
      /gadgets\s+gd\s+example.lockstep.dev\/v1alpha1\s+true\s+Gadget/,
    );
  });

  it("shows its own columns, the less important ones with -o wide", async () => {
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    await cluster.kubectl([
      "patch",
      "gadget",
      "one",
      "-n",
      "gadgets",
      "--subresource=status",
      "--type=merge",
      "-p",
      JSON.stringify({ status }),
    ]);
    expect(await cluster.kubectl("get gadget one -n gadgets")).toMatch(
      /^NAME\s+SIZE\s+READY\s+AGE\none\s+large\s+True\s+\d+s\n$/,
    );
    expect(await cluster.kubectl("get gadget one -n gadgets -o wide")).toMatch(
      /^NAME\s+SIZE\s+READY\s+REPLICAS\s+AGE\none\s+large\s+True\s+1\s+\d+s\n$/,
    );
    expect(await cluster.kubectl("wait --for=condition=Ready gadget/one -n gadgets --timeout=20s")).toContain(
      "condition met",
    );
  });

  it("is explained by its schema", async () => {
    const kind = await cluster.kubectl("explain gadget");
    expect(kind).toContain("A gadget for trying things out.");
    const spec = await cluster.kubectl("explain gadget.spec");
    expect(spec).toMatch(/size\s+<string> -required-\n\s*(enum: small, large, huge\n)?\s+How large it is\./);
    expect(await cluster.kubectl("explain gadget.spec --recursive")).toMatch(
      /parts\s+<\[\]Object>\n\s+name\s+<string> -required-\n\s+weight\s+<integer>/,
    );
    expect(await cluster.kubectl("explain gadget.metadata.labels")).toMatch(/<map\[string\]string>/);
  });

  it("is described with all its fields", async () => {
    expect(await cluster.kubectl("describe gadget one -n gadgets")).toMatch(
      /Spec:\n\s+Parts:\n\s+Name:\s+wheel\n\s+Weight:\s+5/,
    );
  });

  it("takes the default values of its schema, and fills them in again when they are removed", async () => {
    expect((await cluster.json("get gadget one -n gadgets")).spec).toMatchObject({ replicas: 1 });
    await cluster.kubectl([
      "patch",
      "gadget",
      "one",
      "-n",
      "gadgets",
      "--type=json",
      "-p",
      '[{"op":"remove","path":"/spec/replicas"}]',
    ]);
    expect((await cluster.json("get gadget one -n gadgets")).spec).toMatchObject({ replicas: 1 });
  });

  it("merges keyed lists in server-side apply, and refuses strategic merge patches", async () => {
    const applyAs = (manager: string, parts: string) =>
      cluster.kubectl(
        `apply --server-side --field-manager=${manager} -n gadgets -f -`,
        gadget("keyed", `{size: large, parts: ${parts}}`),
      );
    await applyAs("cartwright", "[{name: wheel, weight: 5}, {name: axle}]");
    await applyAs("smith", "[{name: bell, weight: 1}]");
    const names = await cluster.kubectl("get gadget keyed -n gadgets -o jsonpath={.spec.parts[*].name}");
    expect(names.split(" ").sort()).toEqual(["axle", "bell", "wheel"]);
    expect(
      await cluster.refused([
        "patch",
        "gadget",
        "one",
        "-n",
        "gadgets",
        "--type=strategic",
        "-p",
        '{"spec":{"size":"small"}}',
      ]),
    ).toContain(
      "application/strategic-merge-patch+json is not supported by example.lockstep.dev/v1alpha1, Kind=Gadget",
    );
  });

  it("changes generation with its spec only", async () => {
    const generation = async () => (await cluster.json("get gadget one -n gadgets")).metadata.generation;
    const before = await generation();
    await cluster.kubectl("label gadget one -n gadgets some=label");
    await cluster.kubectl([
      "patch",
      "gadget",
      "one",
      "-n",
      "gadgets",
      "--subresource=status",
      "--type=merge",
      "-p",
      '{"status":{"replicas":4}}',
    ]);
    expect(await generation()).toBe(before);
    await cluster.kubectl([
      "patch",
      "gadget",
      "one",
      "-n",
      "gadgets",
      "--type=merge",
      "-p",
      '{"spec":{"size":"small"}}',
    ]);
    expect(await generation()).toBe(before + 1);
  });

  it("goes with its definition", async () => {
    const crd = GADGET_CRD.replaceAll("gadget", "trinket").replaceAll("Gadget", "Trinket").replace("[gd]", "[tr]");
    await cluster.kubectl("apply -f -", crd);
    await established("trinkets.example.lockstep.dev");
    await cluster.kubectl("create -n gadgets -f -", gadget("t", "{size: small}").replace("Gadget", "Trinket"));
    expect(await cluster.kubectl("get crds trinkets.example.lockstep.dev")).toMatch(/^NAME\s+CREATED AT\n/);
    await cluster.kubectl("delete crd trinkets.example.lockstep.dev --timeout=30s");
    // The first when kubectl still remembers the kind, the second when it has forgotten it.
    expect(await cluster.refused("get trinkets -n gadgets")).toMatch(
      /could not find the requested resource|doesn't have a resource type "trinkets"/,
    );
  });
});

/** The manifest of the proposal this project began with: it applies unchanged. */
const SEED = `
apiVersion: apps.karmada.io/v1alpha1
kind: CrossClusterStatefulset
metadata:
  name: xline
spec:
  resourceSelector:
    apiVersion: apps.my.io/v1alpha1
    kind: XlineCluster
    name: xline
    namespace: default
  updateStrategy:
    type: RollingUpdate
`;

describe("Lockstep's own kinds", () => {
  const folder = new URL("../../deploy/crds/", import.meta.url).pathname;

  beforeAll(async () => {
    const files = readdirSync(folder).filter((file) => file.endsWith(".yaml"));
    expect(files.length).toBeGreaterThan(0);
    await cluster.kubectl(["apply", "--server-side", "-f", folder]);
    await cluster.kubectl("wait --for=condition=Established crd --all --timeout=20s");
  });

  it("take the seed's manifest unchanged, and find nothing to change the second time", async () => {
    expect(await cluster.kubectl("apply -f -", SEED)).toBe("crossclusterstatefulset.apps.karmada.io/xline created\n");
    expect(await cluster.kubectl("apply -f -", SEED)).toBe("crossclusterstatefulset.apps.karmada.io/xline unchanged\n");
    expect(await cluster.kubectl("get ccs")).toMatch(/^NAME\s+/);
    expect(await cluster.kubectl("get ccs -o name")).toBe("crossclusterstatefulset.apps.karmada.io/xline\n");
  });

  it("are explained", async () => {
    const spec = await cluster.kubectl("explain ccs.spec");
    for (const field of ["resourceSelector", "topology", "podManagementPolicy", "updateStrategy", "deletionPolicy"]) {
      expect(spec).toMatch(new RegExp(`^  ${field}\\s+<`, "m"));
    }
    expect(await cluster.kubectl("explain ccs.spec.updateStrategy.rollingUpdate.partition")).toMatch(
      /DESCRIPTION:\n\s+\S/,
    );
    expect(await cluster.kubectl("explain ccs --recursive")).toMatch(/resourceSelector\s+<Object>/);
  });

  it.each([
    [
      "a strategy that does not exist",
      { updateStrategy: { type: "Sometimes" } },
      /spec\.updateStrategy\.type: Unsupported value: "Sometimes": supported values: /,
    ],
    [
      "a negative partition",
      { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: -1 } } },
      /spec\.updateStrategy\.rollingUpdate\.partition: Invalid value: .*greater than or equal to 0/,
    ],
    ["a wrong type", { replicas: "five" }, /spec\.replicas: Invalid value: "string": .*must be of type integer/],
    ["a slip in a field's name", { podManagementPolicie: "Parallel" }, /unknown field "spec\.podManagementPolicie"/],
    [
      "a selector without a kind",
      { resourceSelector: { apiVersion: "v1", name: "x" } },
      /spec\.resourceSelector\.kind: Required value/,
    ],
  ])("refuse %s, naming the field and what would be right", async (_, spec, message) => {
    const manifest = {
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name: "bad" },
      spec: { resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" }, ...spec },
    };
    expect(await cluster.refused("apply -f -", object(manifest))).toMatch(message);
  });

  it("are scaled and waited for", async () => {
    await cluster.kubectl("scale ccs/xline --replicas=5");
    expect((await cluster.json("get ccs xline")).spec).toMatchObject({ replicas: 5 });
    const status = {
      conditions: [
        {
          type: "Available",
          status: "True",
          reason: "AllReady",
          message: "",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        },
      ],
    };
    await cluster.kubectl([
      "patch",
      "ccs",
      "xline",
      "--subresource=status",
      "--type=merge",
      "-p",
      JSON.stringify({ status }),
    ]);
    expect(await cluster.kubectl("wait --for=condition=Available ccs/xline --timeout=20s")).toContain("condition met");
  });
});
