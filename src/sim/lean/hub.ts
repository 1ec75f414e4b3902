import { customResourceDefinitions, DEFAULT_SYSTEM_NAMESPACE } from "../../api/index.ts";
import { ApiServer, type KubeObject, SchemaCache, type ServerSnapshot } from "../../apiserver/index.ts";
import { type Clock, type HttpRequest, type JsonObject, seededRandom } from "../../runtime/index.ts";
import type { Backend } from "../world/wire.ts";

/** A custom kind for custom operators. */
export const OWN_KIND = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", plural: "xlineclusters" } as const;

const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly clusterScoped?: boolean;
}

/** Karmada's kinds as far as the adapter uses them, stored unchecked: only Lockstep is tested. */
const KARMADA_KINDS: readonly Kind[] = [
  { apiVersion: "cluster.karmada.io/v1alpha1", kind: "Cluster", plural: "clusters", clusterScoped: true },
  { apiVersion: "work.karmada.io/v1alpha1", kind: "Work", plural: "works" },
  { apiVersion: "work.karmada.io/v1alpha2", kind: "ResourceBinding", plural: "resourcebindings" },
  { apiVersion: "policy.karmada.io/v1alpha1", kind: "PropagationPolicy", plural: "propagationpolicies" },
  { apiVersion: "policy.karmada.io/v1alpha1", kind: "OverridePolicy", plural: "overridepolicies" },
  {
    apiVersion: "policy.karmada.io/v1alpha1",
    kind: "ClusterOverridePolicy",
    plural: "clusteroverridepolicies",
    clusterScoped: true,
  },
  {
    apiVersion: "config.karmada.io/v1alpha1",
    kind: "ResourceInterpreterCustomization",
    plural: "resourceinterpretercustomizations",
    clusterScoped: true,
  },
];

/** Open Cluster Management's kinds as far as the adapter uses them, likewise. */
const OCM_KINDS: readonly Kind[] = [
  {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    plural: "managedclusters",
    clusterScoped: true,
  },
  { apiVersion: "work.open-cluster-management.io/v1", kind: "ManifestWork", plural: "manifestworks" },
  { apiVersion: "cluster.open-cluster-management.io/v1beta1", kind: "Placement", plural: "placements" },
  { apiVersion: "cluster.open-cluster-management.io/v1beta1", kind: "PlacementDecision", plural: "placementdecisions" },
  {
    apiVersion: "cluster.open-cluster-management.io/v1beta2",
    kind: "ManagedClusterSetBinding",
    plural: "managedclustersetbindings",
  },
];

/** The engine on the hub. */
export type EngineName = "karmada" | "ocm";

/** How the custom kind is read: without it, its health would be unknown. */
const CUSTOMIZATION: JsonObject = {
  apiVersion: "config.karmada.io/v1alpha1",
  kind: "ResourceInterpreterCustomization",
  metadata: { name: "xline" },
  spec: {
    target: { apiVersion: OWN_KIND.apiVersion, kind: OWN_KIND.kind },
    customizations: {
      healthInterpretation: {
        luaScript:
          "function InterpretHealth(obj) return obj.status ~= nil and obj.status.readyReplicas == obj.spec.replicas end",
      },
    },
  },
};

/** A hub with every kind installed, created once: each seed starts with a copy of it. */
export class HubImage {
  readonly schemas = new SchemaCache();
  readonly #snapshots = new Map<string, Promise<ServerSnapshot>>();

  /** A fresh hub for these clusters, with the user's `extra` kinds. */
  async boot(
    clock: Clock,
    seed: number,
    clusters: readonly string[],
    extra: readonly JsonObject[],
    engine: EngineName = "karmada",
  ): Promise<ApiServer> {
    const key = JSON.stringify([clusters, extra, engine]);
    const known = this.#snapshots.get(key);
    const snapshot = known ?? this.#prepare(clusters, extra, engine);
    this.#snapshots.set(key, snapshot);
    const storage = await snapshot;
    return new ApiServer({ clock, random: seededRandom(seed), schemas: this.schemas, storage, trackUpdates: false });
  }

  async #prepare(
    clusters: readonly string[],
    extra: readonly JsonObject[],
    engine: EngineName,
  ): Promise<ServerSnapshot> {
    const clock: Clock = {
      now: () => Date.UTC(2025, 0, 1),
      monotonicMs: () => 0,
      sleep: () => new Promise(() => {}),
      after: () => () => {},
    };
    const server = new ApiServer({ clock, random: seededRandom(1), schemas: this.schemas, trackUpdates: false });
    const definitions = [
      ...customResourceDefinitions(),
      ...KARMADA_KINDS.map(definitionOf),
      ...(engine === "ocm" ? OCM_KINDS.map(definitionOf) : []),
      ...(extra.length > 0 ? [] : [definitionOf(OWN_KIND)]),
      ...extra,
    ];
    for (const definition of definitions) await write(server, "POST", CRDS_PATH, definition);
    for (const name of [
      "karmada-system",
      DEFAULT_SYSTEM_NAMESPACE,
      ...clusters.map((cluster) => (engine === "ocm" ? cluster : `karmada-es-${cluster}`)),
    ]) {
      await write(server, "POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
    await write(server, "POST", CUSTOMIZATIONS_PATH, CUSTOMIZATION);
    return server.snapshot();
  }
}

const CUSTOMIZATIONS_PATH = "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations";
const CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

function definitionOf({ apiVersion, kind, plural, clusterScoped }: Kind): JsonObject {
  const [group = "", version = ""] = apiVersion.split("/");
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: clusterScoped ? "Cluster" : "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: ANYTHING },
          subresources: { status: {} },
        },
      ],
    },
  };
}

/** Thrown when the hub refuses a write of the simulated world itself. */
export class HubRefused extends Error {
  override readonly name = "HubRefused";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A write of a client next to the hub: Karmada's controllers, and users. Carried out at once. */
export async function write(
  server: Pick<Backend, "handle">,
  method: HttpRequest["method"],
  path: string,
  body?: JsonObject,
): Promise<KubeObject> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = { "content-type": type, accept: "application/json" };
  const answer = await server.handle({ method, path, headers, ...(body && { body: JSON.stringify(body) }) });
  if (answer.status >= 300) throw new HubRefused(answer.status, `${method} ${path}: ${answer.body.slice(0, 500)}`);
  return JSON.parse(answer.body);
}
