/**
 * What runs the controller in a host cluster: the one that Karmada's control plane runs in, or any other that reaches its
 * API server. One description serves plain YAML, kustomize and the Helm chart, whose values are placeholders in it. Pure.
 */
import { CONTROLLER_ACCOUNT, type EngineName, type Workload, workloadText } from "../../../api/index.ts";
import type { Json, JsonObject } from "../../../runtime/index.ts";
import { LABELS } from "./roles.ts";

export interface HostSettings {
  /** In the host cluster. */
  readonly namespace: string;
  readonly image: string;
  readonly replicas: Json;
  readonly resources: Json;
  /** A Secret with the key `kubeconfig`, in that namespace. */
  readonly kubeconfigSecret: string;
  /** What that Secret contains. Absent: an administrator creates it. */
  readonly hubKubeconfig?: string;
  /** For Node: how large its heap may grow, which no limit of the container tells it. */
  readonly nodeOptions: string;
  /** Empty: the cluster's default. */
  readonly priorityClassName: string;
  /** The command line, without the program, which is the image's entry point. */
  readonly arguments: Json;
  /** Where the controller may connect to, as in a NetworkPolicy: DNS, Karmada's API server, interpreter webhooks. */
  readonly egressPorts: Json;
}

export interface ControllerSettings {
  /** Absent: the controller finds out which engine the hub serves. */
  readonly engine?: EngineName;
  readonly systemNamespace: string;
  readonly workloads: readonly Workload[];
  readonly requireAllowedClusters: boolean;
  /** The image has helm and kustomize, so charts and kustomizations can be rendered. */
  readonly rendersSources: boolean;
}

export const DEFAULT_HOST = {
  replicas: 2,
  // 1,000 applications over 20 clusters use 670 MB while they restart.
  resources: { requests: { cpu: "100m", memory: "256Mi" }, limits: { memory: "1Gi" } },
  // Three quarters of the limit; the rest is for buffers and code.
  nodeOptions: "--max-old-space-size=768",
  kubeconfigSecret: "lockstep-hub-kubeconfig",
  priorityClassName: "",
  egressPorts: [
    { protocol: "UDP", port: 53 },
    { protocol: "TCP", port: 53 },
    // HTTPS, and the ports of Karmada's API server: its own, kubeadm's, and that of a NodePort.
    ...[443, 5443, 6443, 32443].map((port) => ({ protocol: "TCP", port })),
  ],
} satisfies Partial<HostSettings>;

const NAME = CONTROLLER_ACCOUNT;
const SELECTOR = { "app.kubernetes.io/name": NAME };
/** Of the distroless images' user `nonroot`. */
const USER_ID = 65_532;
const METRICS_PORT = 8080;
const KUBECONFIG_FOLDER = "/etc/lockstep/hub";
/** Longer than a request to the hub may take: what was sent is completed, then the lease is released. */
const TERMINATION_SECONDS = 70;
/** Where the Dockerfile's stage `applications` puts helm and kustomize. */
const PROGRAMS_FOLDER = "/programs";
/** Renderers unpack sources there; src/charts limits each source far below this. */
const WORK_FOLDER = { name: "work", mountPath: "/tmp" };
const WORK_FOLDER_SIZE = "1Gi";

/** With the settings that must equal those of the hub's manifests. */
export function controllerArguments({
  engine,
  systemNamespace,
  workloads,
  requireAllowedClusters,
  rendersSources,
}: ControllerSettings): string[] {
  return [
    "controller",
    "--identity=$(POD_NAME)",
    "--unique-identity",
    `--metrics=0.0.0.0:${METRICS_PORT}`,
    ...(engine === undefined ? [] : [`--engine=${engine}`]),
    `--system-namespace=${systemNamespace}`,
    ...workloads.map((workload) => `--workload=${workloadText(workload)}`),
    ...(requireAllowedClusters ? ["--require-allowed-clusters"] : []),
    ...(rendersSources ? ["helm", "kustomize"].map((name) => `--${name}=${PROGRAMS_FOLDER}/${name}`) : []),
  ];
}

/** In the order in which they can be applied; the namespace first. */
export function hostManifests(settings: HostSettings): JsonObject[] {
  const { namespace } = settings;
  const metadata = (name = NAME): JsonObject => ({ name, namespace, labels: { ...LABELS, ...SELECTOR } });
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: namespaceLabels() } },
    // It authenticates at the hub with the kubeconfig; in the host cluster it has no rights and no token.
    { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata(), automountServiceAccountToken: false },
    ...kubeconfigSecret(settings, metadata),
    deployment(settings, metadata()),
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: metadata(),
      spec: { minAvailable: 1, selector: { matchLabels: SELECTOR } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: metadata(`${NAME}-metrics`),
      spec: {
        clusterIP: "None",
        selector: SELECTOR,
        ports: [{ name: "metrics", port: METRICS_PORT, targetPort: "metrics" }],
      },
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: metadata(),
      spec: networkRules(settings),
    },
  ];
}

function kubeconfigSecret(
  { kubeconfigSecret: name, hubKubeconfig: kubeconfig }: HostSettings,
  metadata: (name: string) => JsonObject,
): JsonObject[] {
  if (kubeconfig === undefined) return [];
  return [{ apiVersion: "v1", kind: "Secret", metadata: metadata(name), type: "Opaque", stringData: { kubeconfig } }];
}

function namespaceLabels(): JsonObject {
  return { ...LABELS, "pod-security.kubernetes.io/enforce": "restricted" };
}

function deployment({ replicas, ...settings }: HostSettings, metadata: JsonObject): JsonObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: {
      replicas,
      // The new process stands by before an old one ends.
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      selector: { matchLabels: SELECTOR },
      template: { metadata: { labels: { ...LABELS, ...SELECTOR } }, spec: podSpec(settings) },
    },
  };
}

function podSpec(settings: Omit<HostSettings, "replicas">): JsonObject {
  const volume = { name: "hub-kubeconfig", mountPath: KUBECONFIG_FOLDER, readOnly: true };
  return {
    serviceAccountName: NAME,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    priorityClassName: settings.priorityClassName,
    terminationGracePeriodSeconds: TERMINATION_SECONDS,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER_ID,
      runAsGroup: USER_ID,
      fsGroup: USER_ID,
      seccompProfile: { type: "RuntimeDefault" },
    },
    topologySpreadConstraints: ["kubernetes.io/hostname", "topology.kubernetes.io/zone"].map((topologyKey) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: SELECTOR },
    })),
    containers: [container(settings, volume)],
    volumes: [
      { name: volume.name, secret: { secretName: settings.kubeconfigSecret, defaultMode: 0o440 } },
      // The root file system is read-only; only renderers write, and only here.
      { name: WORK_FOLDER.name, emptyDir: { sizeLimit: WORK_FOLDER_SIZE } },
    ],
  };
}

function container(settings: Omit<HostSettings, "replicas">, volume: JsonObject): JsonObject {
  return {
    name: "controller",
    image: settings.image,
    args: settings.arguments,
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "KUBECONFIG", value: `${KUBECONFIG_FOLDER}/kubeconfig` },
      { name: "NODE_OPTIONS", value: settings.nodeOptions },
    ],
    ports: [{ name: "metrics", containerPort: METRICS_PORT }],
    // Restarted only for what a restart repairs; see docs/guides/production.md.
    livenessProbe: { httpGet: { path: "/healthz", port: "metrics" }, periodSeconds: 20, failureThreshold: 3 },
    readinessProbe: { httpGet: { path: "/readyz", port: "metrics" }, periodSeconds: 5 },
    resources: settings.resources,
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [volume, WORK_FOLDER],
  };
}

function networkRules({ egressPorts }: HostSettings): JsonObject {
  return {
    podSelector: { matchLabels: SELECTOR },
    policyTypes: ["Ingress", "Egress"],
    ingress: [{ ports: [{ protocol: "TCP", port: METRICS_PORT }] }],
    egress: [{ ports: egressPorts }],
  };
}
