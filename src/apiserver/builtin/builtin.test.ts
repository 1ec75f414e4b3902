import { describe, expect, it } from "vitest";
import { clone, type JsonObject, valueAt } from "../../runtime/index.ts";
import { setAt } from "../store/values.ts";
import { TestServer } from "../testing/client.ts";
import { CONFIG_MAPS, configMap, namespace, PODS, pod, SETS, statefulSet } from "../testing/objects.ts";

const SERVICES = "/api/v1/namespaces/default/services";
const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const SECRETS = "/api/v1/namespaces/default/secrets";

const service = (spec: JsonObject = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web" },
  spec: { ports: [{ port: 80 }], ...spec },
});

const claim: JsonObject = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

describe("the server sets the defaults that controllers and kubectl rely on", () => {
  it("of a StatefulSet and its template", async () => {
    const server = new TestServer();
    const sent = clone(statefulSet("db"));
    setAt(sent, ["spec", "replicas"], undefined);
    setAt(
      sent,
      ["spec", "volumeClaimTemplates"],
      [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }],
    );
    expect((await server.create(SETS, sent)).spec).toMatchObject({
      replicas: 1,
      podManagementPolicy: "OrderedReady",
      revisionHistoryLimit: 10,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
      volumeClaimTemplates: [{ kind: "PersistentVolumeClaim", spec: { volumeMode: "Filesystem" } }],
      template: {
        spec: {
          restartPolicy: "Always",
          dnsPolicy: "ClusterFirst",
          schedulerName: "default-scheduler",
          terminationGracePeriodSeconds: 30,
          containers: [
            { name: "db", imagePullPolicy: "IfNotPresent", terminationMessagePolicy: "File", resources: {} },
          ],
        },
      },
    });
  });

  it.each([
    ["app", "Always"],
    ["app:latest", "Always"],
    ["registry:5000/app", "Always"],
    ["app:1", "IfNotPresent"],
    ["app@sha256:0", "IfNotPresent"],
  ])("pull policy of %s is %s", async (image, policy) => {
    const server = new TestServer();
    const created = await server.create(PODS, pod("p", {}, { containers: [{ name: "c", image }] }));
    expect(created.spec).toMatchObject({ containers: [{ imagePullPolicy: policy }] });
    expect(created.status).toMatchObject({ phase: "Pending" });
  });

  it("of a Service: type, target port and an address that stays", async () => {
    const server = new TestServer();
    const created = await server.create(SERVICES, service());
    expect(created.spec).toMatchObject({
      type: "ClusterIP",
      sessionAffinity: "None",
      ports: [{ port: 80, targetPort: 80, protocol: "TCP" }],
      clusterIP: expect.stringMatching(/^10\.\d+\.\d+\.\d+$/),
    });
    const again = await server.put(`${SERVICES}/web`, service({ ports: [{ port: 81 }] }));
    expect(valueAt(again, "spec", "clusterIP")).toBe(valueAt(created, "spec", "clusterIP"));
    const headless = await server.create(SERVICES, {
      ...service({ clusterIP: "None" }),
      metadata: { name: "headless" },
    });
    expect(headless.spec).toMatchObject({ clusterIP: "None", clusterIPs: ["None"] });
  });

  it("of a Secret: plain text becomes data", async () => {
    const server = new TestServer();
    const created = await server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
      stringData: { password: "hunter2" },
    });
    expect(created).toMatchObject({ type: "Opaque", data: { password: "aHVudGVyMg==" } });
    expect(created).not.toHaveProperty("stringData");
  });

  it("of a Namespace: active, labelled with its name", async () => {
    const server = new TestServer();
    const created = await server.create("/api/v1/namespaces", namespace("team"));
    expect(created).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "team" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
  });
});

describe("the server refuses a change of immutable fields", () => {
  const MERGE = { "content-type": "application/merge-patch+json" };
  const refusal = async (server: TestServer, path: string, patch: JsonObject) => {
    const { status, body } = await server.ask("PATCH", path, patch, MERGE);
    return [status, body.message];
  };

  it("in a StatefulSet's spec, in Kubernetes' words", async () => {
    const server = new TestServer();
    await server.create(SETS, statefulSet("db"));
    expect(await refusal(server, `${SETS}/db`, { spec: { serviceName: "other" } })).toEqual([
      422,
      "StatefulSet.apps \"db\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ]);
    await server.merge(`${SETS}/db`, { spec: { replicas: 5, ordinals: { start: 100 }, minReadySeconds: 3 } });
  });

  it("such as a workload's selector", async () => {
    const server = new TestServer();
    const path = "/apis/apps/v1/namespaces/default/deployments";
    await server.create(path, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d" },
      spec: {
        selector: { matchLabels: { app: "d" } },
        template: {
          metadata: { labels: { app: "d", more: "1" } },
          spec: { containers: [{ name: "c", image: "c:1" }] },
        },
      },
    });
    expect(await refusal(server, `${path}/d`, { spec: { selector: { matchLabels: { more: "1" } } } })).toEqual([
      422,
      expect.stringContaining("spec.selector: Invalid value") && expect.stringContaining("field is immutable"),
    ]);
  });

  it("such as data marked immutable, a claim's spec, a service's address, a pod's spec", async () => {
    const server = new TestServer();
    await server.create(CONFIG_MAPS, { ...configMap("a", { x: "1" }), immutable: true });
    expect(await refusal(server, `${CONFIG_MAPS}/a`, { data: { x: "2" } })).toEqual([
      422,
      'ConfigMap "a" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    ]);
    await server.create(CLAIMS, claim);
    expect((await refusal(server, `${CLAIMS}/data`, { spec: { accessModes: ["ReadWriteMany"] } }))[1]).toContain(
      "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
    );
    await server.merge(`${CLAIMS}/data`, { spec: { volumeName: "pv-1" } });
    await server.create(SERVICES, service());
    expect((await refusal(server, `${SERVICES}/web`, { spec: { clusterIP: "10.0.0.1" } }))[1]).toContain(
      "may not change once set",
    );
    await server.create(PODS, pod("p", {}, { nodeName: "n1" }));
    expect((await refusal(server, `${PODS}/p`, { spec: { nodeName: "n2" } }))[1]).toContain(
      "pod updates may not change fields",
    );
    expect((await refusal(server, `${PODS}/p`, { spec: { hostname: "x" } }))[1]).toContain(
      "pod updates may not change fields",
    );
    await server.merge(`${PODS}/p`, {
      spec: {
        containers: [
          {
            name: "main",
            image: "app:2",
            imagePullPolicy: "IfNotPresent",
            resources: {},
            terminationMessagePath: "/dev/termination-log",
            terminationMessagePolicy: "File",
          },
        ],
      },
    });
  });
});

describe("a common mistake in a StatefulSet is refused", () => {
  const bad = (path: string[], value: JsonObject | JsonObject[] | string | undefined) => {
    const set = clone(statefulSet("db"));
    setAt(set, path, value);
    return set;
  };
  const refused: [JsonObject, string][] = [
    [bad(["spec", "selector"], undefined), "spec.selector: Required value"],
    [bad(["spec", "selector", "matchLabels"], { app: "other" }), "`selector` does not match template `labels`"],
    [bad(["spec", "template", "spec", "containers"], []), "spec.template.spec.containers: Required value"],
    [
      bad(["spec", "template", "spec", "containers"], [{ name: "a" }]),
      "spec.template.spec.containers[0].image: Required value",
    ],
    [
      bad(["spec", "podManagementPolicy"], "Sometimes"),
      'spec.podManagementPolicy: Unsupported value: "Sometimes": supported values: "OrderedReady", "Parallel"',
    ],
    [bad(["spec", "updateStrategy"], { type: "Now" }), 'spec.updateStrategy.type: Unsupported value: "Now"'],
  ];
  it.each(refused.map(([object, words]) => [words, object] as const))("with the message: %s", async (words, object) => {
    const server = new TestServer();
    const answer = await server.ask("POST", SETS, object);
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain(words);
  });
});
