import { parse } from "yaml";
import type { TopologyCluster } from "../../contract/index.ts";
import type { AppIdentity, Grant, TopologyView } from "../../plan/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { RenderInput } from "../render.ts";
import { snapshotRevision } from "../revision.ts";
import type { ClusterFacts } from "../selectors.ts";

export function yaml(text: string): JsonObject {
  const value: unknown = parse(text);
  if (!isJsonObject(value)) throw new Error("the fixture is not one YAML object");
  return value;
}

export const STATEFULSET = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop, labels: {app: db}}
spec:
  replicas: 5
  serviceName: db
  selector: {matchLabels: {app: db}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 3}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
        - name: db
          image: registry.example/team/db:1.0
          command: [db]
          args: [--quorum, --verbose]
          ports: [{name: client, containerPort: 2379}, {containerPort: 2380}]
`;

export const CONFIG_MAP = `
apiVersion: v1
kind: ConfigMap
metadata: {name: db-config, namespace: shop}
data: {log.level: info}
`;

export const APP: AppIdentity = { name: "db", namespace: "shop", service: "db", clusterToken: "token-1" };

export function cluster(name: string, facts: Partial<ClusterFacts> = {}): ClusterFacts {
  return { name, labels: {}, ...facts };
}

export function grant(change: Partial<Grant> = {}): Grant {
  return {
    cluster: "member1",
    revision: "db-1",
    replicas: 2,
    partition: 0,
    processor: true,
    topologyVersion: 4,
    epoch: 7,
    start: 0,
    initialClusterState: "existing",
    onDelete: false,
    ...change,
  };
}

/** Clusters member1, member2 ... with this many instances each, in blocks of 100. */
export function topology(replicas: readonly number[], app = APP, version = 4): TopologyView {
  const clusters = replicas.map((count, index): TopologyCluster => {
    const name = `member${index + 1}`;
    const ordinals = Array.from({ length: count }, (_, i) => index * 100 + i);
    const instances = ordinals.map((ordinal) => `${app.name}-${ordinal}`);
    return {
      cluster: name,
      replicas: count,
      ordinals,
      instances,
      addresses: instances.map((each) => `${each}.${name}.${app.service}.${app.namespace}.svc.clusterset.local`),
      states: ordinals.map(() => "member"),
    };
  });
  return { version, clusters };
}

export function initialClusterOf(view: TopologyView): string {
  return view.clusters
    .flatMap(({ instances, addresses }) => instances.map((instance, i) => `${instance}=${addresses[i]}`))
    .join(",");
}

export interface Case extends Partial<Omit<RenderInput, "grant" | "revision">> {
  readonly grant?: Partial<Grant>;
  readonly template?: JsonObject;
  readonly dependencies?: JsonObject[];
  readonly policies?: JsonObject[];
  readonly restart?: string;
}

/** A complete input: by default the StatefulSet above, with two instances in each of two clusters. */
export function renderInput({
  grant: change,
  template,
  dependencies,
  policies,
  restart,
  ...rest
}: Case = {}): RenderInput {
  const view = rest.topology ?? topology([2, 2]);
  const content = snapshotRevision({
    template: template ?? yaml(STATEFULSET),
    dependencies: dependencies ?? [],
    policies,
    restart,
  });
  const granted = grant({ topologyVersion: view.version, ...change });
  return {
    app: APP,
    cluster: cluster(granted.cluster),
    grant: granted,
    revision: { id: granted.revision, content },
    topology: view,
    initialCluster: initialClusterOf(view),
    ...rest,
  };
}
