import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { ANNOTATIONS, SEED_ANNOTATIONS } from "../contract/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../runtime/index.ts";
import { stringMapAt } from "./json.ts";
import { type MemberManifest, type RenderResult, renderMember } from "./render.ts";
import { snapshotRevision } from "./revision.ts";
import {
  APP,
  type Case,
  CONFIG_MAP,
  cluster,
  initialClusterOf,
  renderInput,
  STATEFULSET,
  topology,
  yaml,
} from "./testing/fixtures.ts";
import { type Retention, workloadDifferences } from "./workload.ts";

function rendered(change: Case = {}): RenderResult & { ok: true } {
  const result = renderMember(renderInput(change));
  if (!result.ok) throw result.error;
  return result;
}

function failure(change: Case): string {
  const result = renderMember(renderInput(change));
  if (result.ok) throw new Error("it should have been refused");
  return result.error.message;
}

function byRole(manifests: readonly MemberManifest[], role: string): JsonObject {
  const found = manifests.find((each) => each.role === role);
  if (!found) throw new Error(`no ${role}`);
  return found.object;
}

const annotationsOf = (object: JsonObject) => stringMapAt(object, "metadata", "annotations");

const policy = (rule: string) =>
  yaml(`{kind: OverridePolicy, metadata: {name: p, namespace: shop}, spec: {overrideRules: [${rule}]}}`);

describe("a StatefulSet's member", () => {
  it("[G2] [I2] [I7] gets exactly this, spec and annotations in one object", () => {
    const view = topology([1, 2]);
    const { workload } = rendered({
      topology: view,
      initialCluster: initialClusterOf(view),
      grant: { cluster: "member2", replicas: 2, start: 100, partition: 1, revision: "db-2", transferLeaderTo: "db-0" },
    });
    expect(stringify(workload, { lineWidth: 0 })).toBe(`apiVersion: apps/v1
kind: StatefulSet
metadata:
  annotations:
    corssclusterstatefulset.karmada.io/processer: "true"
    corssclusterstatefulset.karmada.io/replicas: '[{"member1":"1","self":false},{"member2":"2","self":true}]'
    crossclusterstatefulset.karmada.io/cluster: member2
    crossclusterstatefulset.karmada.io/cluster-token: token-1
    crossclusterstatefulset.karmada.io/epoch: "7"
    crossclusterstatefulset.karmada.io/initial-cluster: db-0=db-0.member1.db.shop.svc.clusterset.local,db-100=db-100.member2.db.shop.svc.clusterset.local,db-101=db-101.member2.db.shop.svc.clusterset.local
    crossclusterstatefulset.karmada.io/initial-cluster-state: existing
    crossclusterstatefulset.karmada.io/partition: "1"
    crossclusterstatefulset.karmada.io/processor: "true"
    crossclusterstatefulset.karmada.io/revision: db-2
    crossclusterstatefulset.karmada.io/topology: '[{"cluster":"member1","replicas":1,"ordinals":[0],"instances":["db-0"],"addresses":["db-0.member1.db.shop.svc.clusterset.local"],"states":["member"]},{"cluster":"member2","replicas":2,"ordinals":[100,101],"instances":["db-100","db-101"],"addresses":["db-100.member2.db.shop.svc.clusterset.local","db-101.member2.db.shop.svc.clusterset.local"],"states":["member","member"]}]'
    crossclusterstatefulset.karmada.io/topology-ref: ""
    crossclusterstatefulset.karmada.io/topology-version: "4"
    crossclusterstatefulset.karmada.io/transfer-leader-to: db-0
  labels:
    app: db
    crossclusterstatefulset.karmada.io/epoch: "7"
  name: db
  namespace: shop
spec:
  ordinals:
    start: 100
  replicas: 2
  selector:
    matchLabels:
      app: db
  serviceName: db
  template:
    metadata:
      labels:
        app: db
    spec:
      containers:
        - args:
            - --quorum
            - --verbose
          command:
            - db
          image: registry.example/team/db:1.0
          name: db
          ports:
            - containerPort: 2379
              name: client
            - containerPort: 2380
  updateStrategy:
    rollingUpdate:
      partition: 1
    type: RollingUpdate
`);
  });

  it("[D7] writes no ordinals for the first block, so that an adopted StatefulSet's generation stays", () => {
    expect(valueAt(rendered().workload, "spec", "ordinals")).toBeUndefined();
  });

  it("[U11] leaves restarts to the user when the grant is OnDelete", () => {
    expect(valueAt(rendered({ grant: { onDelete: true } }).workload, "spec", "updateStrategy")).toEqual({
      type: "OnDelete",
    });
  });

  it("keeps or deletes volumes as the CrossClusterStatefulset requires, and sets nothing if both are the default", () => {
    const at = (retention?: Retention) =>
      valueAt(rendered({ member: { retention } }).workload, "spec", "persistentVolumeClaimRetentionPolicy");
    expect(at({ whenScaled: "Delete", whenDeleted: "Retain" })).toEqual({
      whenScaled: "Delete",
      whenDeleted: "Retain",
    });
    expect(at({ whenScaled: "Retain", whenDeleted: "Retain" })).toBeUndefined();
  });

  it("[Q13] restarts one pod at a time, regardless of its template, unless the member is declared Parallel", () => {
    const template = (value: string) =>
      yaml(STATEFULSET.replace("{partition: 3}", `{partition: 3, maxUnavailable: ${value}}`));
    const at = (value: string, memberConcurrency?: "Serial" | "Parallel") =>
      valueAt(
        rendered({ template: template(value), member: { memberConcurrency } }).workload,
        ...["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"],
      );
    expect(at("3")).toBeUndefined();
    expect(at("50%", "Serial")).toBeUndefined();
    expect(at("1")).toBe(1);
    expect(at("3", "Parallel")).toBe(3);
  });

  it("[U10] restarts its pods for a restart and for a dependency's new content, by a mark on the pod template", () => {
    const marks = (change: Case) => valueAt(rendered(change).workload, "spec", "template", "metadata", "annotations");
    const config = (level: string) => [yaml(CONFIG_MAP.replace("info", level))];
    expect(marks({})).toBeUndefined();
    expect(marks({ restart: "r1" })).toEqual({ "crossclusterstatefulset.karmada.io/restarted-at": "r1" });
    // Pinned: a version of Lockstep with other marks for the same content would restart every pod on upgrade.
    expect(marks({ dependencies: config("info") })).toEqual({
      "crossclusterstatefulset.karmada.io/dependencies": "47hkhjcrmm",
    });
    expect(marks({ dependencies: config("info") })).not.toEqual(marks({ dependencies: config("debug") }));
  });
});

describe("[D7] writing over what a cluster runs", () => {
  const running = (change = "") =>
    yaml(STATEFULSET.replace("replicas: 5", "replicas: 2").replace("{partition: 3}}", `{partition: 0}}${change}`));
  const { workload } = rendered();

  it("moves nothing when it runs the same", () => {
    expect(workloadDifferences({ ...running(), status: { replicas: 2 } }, workload)).toEqual([]);
  });

  it("names the fields that it would change", () => {
    expect(workloadDifferences(yaml(STATEFULSET), workload)).toEqual([
      "/spec/replicas",
      "/spec/updateStrategy/rollingUpdate/partition",
    ]);
    expect(workloadDifferences(running("\n  podManagementPolicy: Parallel"), workload)).toEqual([
      "/spec/podManagementPolicy",
    ]);
  });
});

describe("pods that use a dependency", () => {
  const editsConfig = (level: string) =>
    policy(
      `{targetCluster: {clusterNames: [member1]}, overriders: {plaintext: [{path: /data/log.level, operator: replace, value: ${level}}]}}`,
    );
  const onlyConfig = (level: string) => {
    const selects = yaml("{s: [{apiVersion: v1, kind: ConfigMap}]}").s;
    const edited = editsConfig(level);
    return { ...edited, spec: { ...(isJsonObject(edited.spec) ? edited.spec : {}), resourceSelectors: selects } };
  };
  const mark = (name: string, level: string) =>
    valueAt(
      rendered({ dependencies: [yaml(CONFIG_MAP)], policies: [onlyConfig(level)], grant: { cluster: name } }).workload,
      "spec",
      "template",
      "metadata",
      "annotations",
    );

  it("restart when an override changes it, only in the clusters of the override", () => {
    expect(mark("member1", "debug")).not.toEqual(mark("member1", "warn"));
    expect(mark("member2", "debug")).toEqual(mark("member2", "warn"));
  });
});

describe("an operator written for the proposal", () => {
  // The proposal's own text. Its second entry repeats member1, but the sentence below it says member2.
  const PROPOSAL = `# member1
Name:         xline
Namespace:    xline
API Version:  apps.my.io/v1alpha1
Kind:         XlineCluster
Annotations:
    corssclusterstatefulset.karmada.io/replicas: [
      {"member1":"1","self":true},
      {"member1":"2","self":false}
      ]
...
---
# member2
Name:         xline
Namespace:    xline
API Version:  apps.my.io/v1alpha1
Kind:         XlineCluster
Annotations:
    corssclusterstatefulset.karmada.io/replicas: [
      {"member1":"1","self":false},
      {"member1":"2","self":true}
      ]
...
`;
  const app = { name: "xline", namespace: "xline", service: "xline", clusterToken: "t" };
  const view = topology([1, 2], app);
  const template = yaml(
    "{apiVersion: apps.my.io/v1alpha1, kind: XlineCluster, metadata: {name: xline, namespace: xline}, spec: {replicas: 3, version: '1'}}",
  );
  const member = (name: string, replicas: number, processor = true) =>
    rendered({ app, template, topology: view, grant: { cluster: name, replicas, processor } }).workload;

  it("finds its keys and shapes exactly, except for that mistake", () => {
    const shown = PROPOSAL.split("---").map((part) => /\/replicas: (\[[^\]]*\])/.exec(part)?.[1] ?? "");
    const [first, second] = shown.map((text) =>
      text.replaceAll('"member1":"2"', '"member2":"2"').replaceAll(/\s/g, ""),
    );
    expect(annotationsOf(member("member1", 1))["corssclusterstatefulset.karmada.io/replicas"]).toBe(first);
    expect(annotationsOf(member("member2", 2))["corssclusterstatefulset.karmada.io/replicas"]).toBe(second);
  });

  it("[G7] learns whether to act from the proposal's key and from the contract's", () => {
    for (const processor of [true, false]) {
      const annotations = annotationsOf(member("member1", 1, processor));
      expect(annotations[SEED_ANNOTATIONS.processer]).toBe(String(processor));
      expect(annotations[ANNOTATIONS.processor]).toBe(String(processor));
    }
  });

  it("[U10] is notified of a restart, which its spec does not show", () => {
    const { workload } = rendered({ app, template, topology: view, grant: { replicas: 1 }, restart: "r1" });
    expect(annotationsOf(workload)["crossclusterstatefulset.karmada.io/restarted-at"]).toBe("r1");
  });

  it("gets its own count, and the rest of its spec unchanged", () => {
    expect(member("member2", 2).spec).toEqual({ replicas: 2, version: "1" });
  });
});

describe("where the count goes", () => {
  const custom = (spec: string) =>
    yaml(`{apiVersion: a.io/v1, kind: Thing, metadata: {name: db, namespace: shop}, spec: ${spec}}`);

  it("is spec.parallelism for a Job", () => {
    const job = yaml(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: db, namespace: shop}, spec: {parallelism: 9}}",
    );
    expect(rendered({ template: job }).workload.spec).toEqual({ parallelism: 2 });
  });

  it("is where ReviseReplica puts it", () => {
    const revise = (object: JsonObject, replicas: number): JsonObject => ({
      ...object,
      spec: { pool: { size: replicas } },
    });
    expect(rendered({ template: custom("{}"), replicas: { kind: "revise", revise } }).workload.spec).toEqual({
      pool: { size: 2 },
    });
  });

  it("is refused when ReviseReplica fails, with its message", () => {
    const input = renderInput({ template: custom("{}") });
    const revise = (): JsonObject => {
      throw new Error("line 3: attempt to index a nil value");
    };
    const result = renderMember({ ...input, replicas: { kind: "revise", revise } });
    expect(result.ok ? "" : result.error.message).toMatch(/Thing shop\/db: ReviseReplica to 2 failed \(line 3/);
  });

  it("may already have been written by a webhook", () => {
    const template = custom("{size: 5}");
    const object = custom("{size: 2}");
    expect(rendered({ template, replicas: { kind: "revised", object } }).workload.spec).toEqual({ size: 2 });
  });

  it("is refused when the field is unknown, with a remedy", () => {
    expect(failure({ template: custom("{size: 5}") })).toMatch(/Thing shop\/db: spec\.replicas.*add a ReviseReplica/);
  });
});

describe("overrides", () => {
  it("are applied to the workload and to its dependencies, for the clusters they name", () => {
    const policies = [
      policy(
        "{targetCluster: {clusterNames: [member1]}, overriders: {imageOverrider: [{component: Registry, operator: replace, value: east.local}], labelsOverrider: [{operator: add, value: {region: east}}]}}",
      ),
    ];
    const dependencies = [yaml(CONFIG_MAP)];
    const east = rendered({ policies, dependencies });
    const west = rendered({ policies, dependencies, grant: { cluster: "member2" } });
    expect(JSON.stringify(east.workload)).toContain("east.local/team/db:1.0");
    expect(east.applied).toEqual([{ policy: "OverridePolicy shop/p", rule: "spec.overrideRules[0]" }]);
    expect(stringMapAt(byRole(east.manifests, "dependency"), "metadata", "labels")).toEqual({ region: "east" });
    expect(JSON.stringify(west.workload)).toContain("registry.example/team/db:1.0");
    expect(west.applied).toEqual([]);
  });

  it("do not reach the objects that Lockstep makes itself", () => {
    const policies = [policy("{overriders: {labelsOverrider: [{operator: add, value: {a: b}}]}}")];
    expect(stringMapAt(byRole(rendered({ policies }).manifests, "topology"), "metadata", "labels")).not.toHaveProperty(
      "a",
    );
  });

  it.each([
    ["/spec/replicas", "{path: /spec/replicas, operator: replace, value: 3}"],
    ["/spec/replicas", "{path: /spec, operator: replace, value: {}}"],
    ["/spec/ordinals/start", "{path: /spec/ordinals, operator: add, value: {start: 5}}"],
    ["/spec/updateStrategy/type", "{path: /spec/updateStrategy/type, operator: replace, value: OnDelete}"],
    [
      "/spec/updateStrategy/rollingUpdate/partition",
      "{path: /spec/updateStrategy/rollingUpdate/partition, operator: replace, value: 1}",
    ],
    [
      "/spec/updateStrategy/rollingUpdate/maxUnavailable",
      "{path: /spec/updateStrategy/rollingUpdate/maxUnavailable, operator: add, value: 2}",
    ],
    ["/metadata/name", "{path: /metadata/name, operator: replace, value: other}"],
  ])("may not change %s", (path, operation) => {
    const message = failure({ policies: [policy(`{overriders: {plaintext: [${operation}]}}`)] });
    expect(message).toMatch(/^OverridePolicy shop\/p, spec\.overrideRules\[0\]: /);
    expect(message).toContain(`it changes ${path} of StatefulSet shop/db for cluster member1`);
  });

  it("may not change a count that ReviseReplica wrote", () => {
    const template = yaml(
      "{apiVersion: a.io/v1, kind: Thing, metadata: {name: db, namespace: shop}, spec: {pool: {size: 2}}}",
    );
    const revise = (object: JsonObject, replicas: number): JsonObject => ({
      ...object,
      spec: { pool: { size: replicas } },
    });
    const policies = [policy("{overriders: {plaintext: [{path: /spec/pool/size, operator: replace, value: 9}]}}")];
    expect(failure({ template, policies, replicas: { kind: "revise", revise } })).toContain(
      "it changes /spec/pool/size",
    );
  });

  it("may set a field to the granted value", () => {
    const policies = [policy("{overriders: {plaintext: [{path: /spec/replicas, operator: replace, value: 2}]}}")];
    expect(rendered({ policies }).applied).toHaveLength(1);
  });

  it("cannot remove or change the contract's annotations", () => {
    const policies = [
      policy(`{overriders: {plaintext: [{path: /metadata/annotations, operator: add, value: {mine: kept,
        ${ANNOTATIONS.transferLeaderTo}: db-9, ${ANNOTATIONS.processor}: 'maybe'}}]}}`),
    ];
    const annotations = annotationsOf(rendered({ policies }).workload);
    expect(annotations).toMatchObject({ mine: "kept", [ANNOTATIONS.processor]: "true", [ANNOTATIONS.epoch]: "7" });
    expect(annotations[ANNOTATIONS.transferLeaderTo]).toBe("");
  });

  it("cannot make the hub keep the member's own count, or give the object an owner", () => {
    const label = "resourcetemplate.karmada.io~1retain-replicas";
    const policies = [
      policy(`{overriders: {plaintext: [{path: /metadata/labels/${label}, operator: add, value: "true"},
        {path: /metadata/ownerReferences, operator: add, value: [{name: o}]}]}}`),
    ];
    const { workload } = rendered({ policies });
    expect(JSON.stringify(workload)).not.toMatch(/retain-replicas|ownerReferences/);
  });

  it("that fail prevent any write", () => {
    const policies = [policy("{overriders: {plaintext: [{path: /nothing/here, operator: remove}]}}")];
    expect(failure({ policies })).toMatch(/plaintext\[0\] at \/nothing\/here/);
  });
});

describe("what is sent with the workload", () => {
  const network = { headlessService: true, serviceExport: true };
  const secret = yaml("{apiVersion: v1, kind: Secret, metadata: {name: db-tls, namespace: shop}, data: {k: aGVsbG8=}}");

  it("comes before it: dependencies, topology, Service, ServiceExport", () => {
    const { manifests } = rendered({ dependencies: [secret, yaml(CONFIG_MAP)], network });
    expect(manifests.map(({ key }) => key)).toEqual([
      "v1/ConfigMap shop/db-config",
      "v1/Secret shop/db-tls",
      "v1/ConfigMap shop/db-topology",
      "v1/Service shop/db",
      "multicluster.x-k8s.io/v1alpha1/ServiceExport shop/db",
      "apps/v1/StatefulSet shop/db",
    ]);
  });

  it("[I7] [I8] is the topology as files", () => {
    const { manifests, workload } = rendered();
    const object = byRole(manifests, "topology");
    expect(annotationsOf(object)).toMatchObject({ [ANNOTATIONS.topologyVersion]: "4" });
    expect(object.data).toEqual({
      cluster: "member1",
      "cluster-token": "token-1",
      "initial-cluster": annotationsOf(workload)[ANNOTATIONS.initialCluster],
      "initial-cluster-state": "existing",
      peers: [
        "db-0.member1.db.shop.svc.clusterset.local",
        "db-1.member1.db.shop.svc.clusterset.local",
        "db-100.member2.db.shop.svc.clusterset.local",
        "db-101.member2.db.shop.svc.clusterset.local",
        "",
      ].join("\n"),
      "topology-version": "4",
      "topology.json": annotationsOf(workload)[ANNOTATIONS.topology],
    });
  });

  it("is a headless Service that publishes instances before they are ready", () => {
    expect(byRole(rendered({ network }).manifests, "service").spec).toEqual({
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: { app: "db" },
      ports: [
        { name: "client", port: 2379, protocol: "TCP" },
        { name: "tcp-2380", port: 2380, protocol: "TCP" },
      ],
    });
  });

  it("uses the requested ports, readiness, selector and ServiceExport version", () => {
    const { manifests } = rendered({
      network: {
        ...network,
        ports: [{ name: "peer", port: 1 }],
        publishNotReadyAddresses: false,
        selector: { x: "y" },
        serviceExportVersion: "v1beta1",
      },
    });
    expect(byRole(manifests, "service").spec).toEqual({
      clusterIP: "None",
      publishNotReadyAddresses: false,
      selector: { x: "y" },
      ports: [{ name: "peer", port: 1, protocol: "TCP" }],
    });
    expect(byRole(manifests, "serviceExport").apiVersion).toBe("multicluster.x-k8s.io/v1beta1");
  });

  it("leaves the user's own Service of that name in place", () => {
    const own = yaml("{apiVersion: v1, kind: Service, metadata: {name: db, namespace: shop}, spec: {clusterIP: None}}");
    const { manifests } = rendered({ dependencies: [own], network });
    expect(manifests.filter(({ object }) => object.kind === "Service").map(({ role }) => role)).toEqual(["dependency"]);
  });

  it("refuses a Service if the labels of the instances are unknown", () => {
    const template = yaml(
      "{apiVersion: a.io/v1, kind: Thing, metadata: {name: db, namespace: shop}, spec: {replicas: 1}}",
    );
    expect(failure({ template, network })).toMatch(/Service shop\/db: the labels of its instances are not known/);
  });

  it("keeps the dependencies of the instances below the partition, with the new content if both revisions name one", () => {
    const named = (name: string, text: string) =>
      yaml(`{apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}, namespace: shop}, data: {k: ${text}}}`);
    const baseRevision = snapshotRevision({
      template: yaml(STATEFULSET),
      dependencies: [named("both", "old"), named("old-only", "old")],
    });
    const { manifests } = rendered({ dependencies: [named("both", "new")], baseRevision });
    const config = manifests
      .filter(({ role }) => role === "dependency")
      .map(({ object }) => [valueAt(object, "metadata", "name"), valueAt(object, "data", "k")]);
    expect(config).toEqual([
      ["old-only", "old"],
      ["both", "new"],
    ]);
  });
});

describe("inputs that do not belong together", () => {
  it.each<[string, Case]>([
    ["another cluster", { cluster: cluster("member9") }],
    ["another topology version", { grant: { topologyVersion: 3 } }],
    ["another application", { app: { ...APP, name: "other" } }],
    ["another namespace", { app: { ...APP, namespace: "other" } }],
    ["another revision", {}],
  ])("is refused: %s", (what, change) => {
    const input = renderInput(change);
    const given = what === "another revision" ? { ...input, revision: { ...input.revision, id: "db-0" } } : input;
    const result = renderMember(given);
    expect(result).toMatchObject({ ok: false, error: { name: "RenderInputError" } });
  });

  it("is refused: a dependency with the name of the topology's ConfigMap", () => {
    const input = renderInput();
    const clash = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: db-topology, namespace: shop}}");
    const content = { ...input.revision.content, dependencies: [clash] };
    const result = renderMember({ ...input, revision: { ...input.revision, content } });
    expect(result).toMatchObject({ ok: false, error: { name: "RenderInputError" } });
  });
});
