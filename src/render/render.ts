import type { AppIdentity, Grant, RevisionId, TopologyView } from "../plan/index.ts";
import { isJsonObject, type JsonObject, valueAtPointer } from "../runtime/index.ts";
import { LimitError, OverrideTouchesGrantError, type RenderError, RenderInputError } from "./errors.ts";
import { kindAndName, nameOf, sameMeaning, sortKeys, stringAt } from "./json.ts";
import { checkLimits } from "./limits.ts";
import { headlessService, isOwnService, type NetworkSettings, serviceExport } from "./network.ts";
import { type AppliedOverride, applyOverrides, OverrideError } from "./overrides.ts";
import { contentDigest, type RevisionContent } from "./revision.ts";
import { sanitize } from "./sanitize.ts";
import type { ClusterFacts } from "./selectors.ts";
import { topologyConfigMap } from "./topology-files.ts";
import type { ToldTopology } from "./topology-told.ts";
import { grantWorkload, type MemberSettings, type ReplicaSource, stampContract, stampPodTemplate } from "./workload.ts";

export interface RenderInput {
  readonly app: AppIdentity;
  readonly cluster: ClusterFacts;
  readonly grant: Grant;
  /** The content of `grant.revision`. */
  readonly revision: { id: RevisionId; content: RevisionContent };
  /** The view of `grant.topologyVersion`. */
  readonly topology: TopologyView;
  /** The planner's `initialCluster(ledger, grant)`. */
  readonly initialCluster: string;
  /** What the instances below the partition still run: its dependencies stay until no instance uses them. */
  readonly baseRevision?: RevisionContent;
  readonly replicas?: ReplicaSource;
  readonly network?: NetworkSettings;
  /** Settings that a StatefulSet must follow in addition to its grant. */
  readonly member?: MemberSettings;
  /** The maximum size of the topology as an annotation; absent: the contract's limit. */
  readonly topologyInlineBytes?: number;
}

/**
 * `topologyPart`: a ConfigMap that a topology-ref names. The workload may be written only after the member is seen to
 * have them.
 */
export type ManifestRole = "dependency" | "topology" | "topologyPart" | "service" | "serviceExport" | "workload";

export interface MemberManifest {
  readonly role: ManifestRole;
  /** `apiVersion/kind namespace/name`, unique in the result. */
  readonly key: string;
  readonly object: JsonObject;
}

export type RenderResult =
  | {
      ok: true;
      /** In the order in which they must be applied: dependencies first, the workload last. */
      manifests: MemberManifest[];
      workload: JsonObject;
      applied: AppliedOverride[];
    }
  | { ok: false; error: RenderError };

/**
 * The objects that one member needs for its grant. Pure; the same input gives the same text. On any error, nothing may
 * be written to that member: it continues with what it has.
 */
export function renderMember(input: RenderInput): RenderResult {
  try {
    checkInput(input);
    const dependencies = dependenciesOf(input.cluster, input.revision.content);
    const workload = renderWorkload(input, dependencies);
    const manifests = [
      ...leftovers(input, dependencies),
      ...dependencies,
      ...ownManifests(input, workload, dependencies),
      manifest("workload", workload.object),
    ];
    checkUnique(manifests);
    for (const { object } of manifests) checkLimits(object);
    return { ok: true, manifests, workload: workload.object, applied: workload.applied };
  } catch (error) {
    if (isRenderError(error)) return { ok: false, error };
    throw error;
  }
}

function renderWorkload(input: RenderInput, dependencies: readonly MemberManifest[]) {
  const { cluster, grant, revision, replicas, member } = input;
  const { content } = revision;
  const { restart } = content;
  // Of this cluster's copies, so that pods restart only if an override really changed something.
  const digest = contentDigest(dependencies.map(({ object }) => object));
  const stamps = { restart, dependencyDigest: content.dependencyDigest === undefined ? undefined : digest };
  const granted = grantWorkload(content.template, grant, replicas ?? { kind: "native" }, member);
  const overridden = override(stampPodTemplate(granted.object, stamps), cluster, content, granted.grantPaths);
  const { object, told } = stampContract(overridden.object, { ...input, restart });
  return { object: sortedObject(object), told, applied: overridden.applied };
}

/** Objects that only the instances below the partition still use. */
function leftovers({ cluster, baseRevision }: RenderInput, dependencies: readonly MemberManifest[]): MemberManifest[] {
  const named = new Set(dependencies.map(({ key }) => key));
  return baseRevision ? dependenciesOf(cluster, baseRevision).filter(({ key }) => !named.has(key)) : [];
}

function ownManifests(
  { app, grant, topology, initialCluster, network }: RenderInput,
  { object: workload, told }: { readonly object: JsonObject; readonly told: ToldTopology },
  dependencies: readonly MemberManifest[],
): MemberManifest[] {
  const result = told.parts.map((part) => manifest("topologyPart", part));
  result.push(manifest("topology", topologyConfigMap(app, grant, topology, initialCluster, told.ref)));
  if (network?.headlessService && !dependencies.some(({ object }) => isOwnService(object, app))) {
    result.push(manifest("service", headlessService(app, workload, network)));
  }
  if (network?.serviceExport) result.push(manifest("serviceExport", serviceExport(app, network)));
  return result;
}

function dependenciesOf(cluster: ClusterFacts, content: RevisionContent): MemberManifest[] {
  return content.dependencies.map((dependency) =>
    manifest("dependency", sortedObject(override(dependency, cluster, content, []).object)),
  );
}

const IDENTITY_PATHS = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];

/**
 * Applies the revision's policies, and refuses a rule that changes a field of the grant. The result is sanitized again,
 * as Karmada prunes after its overrides: a policy can neither set an owner nor make the hub retain the member's count.
 */
function override(object: JsonObject, cluster: ClusterFacts, content: RevisionContent, grantPaths: readonly string[]) {
  const guarded = [...IDENTITY_PATHS, ...grantPaths].map((path) => ({ path, value: valueAtPointer(object, path) }));
  const { object: result, applied } = applyOverrides(object, cluster, content.overrides, {
    afterRule: (now, rule) => {
      const touched = guarded.find(({ path, value }) => !sameMeaning(value, valueAtPointer(now, path)));
      if (touched) throw new OverrideTouchesGrantError(rule, touched.path, cluster.name, kindAndName(object));
    },
  });
  return { object: sanitize(result), applied };
}

function manifest(role: ManifestRole, object: JsonObject): MemberManifest {
  return { role, key: `${object.apiVersion}/${object.kind} ${nameOf(object)}`, object };
}

function sortedObject(object: JsonObject): JsonObject {
  const result = sortKeys(object);
  return isJsonObject(result) ? result : object;
}

function checkInput({ app, cluster, grant, revision, topology }: RenderInput): void {
  const { template } = revision.content;
  const mismatches = [
    ["cluster", grant.cluster, cluster.name],
    ["revision", grant.revision, revision.id],
    ["topology version", grant.topologyVersion, topology.version],
    ["workload name", app.name, stringAt(template, "metadata", "name")],
    ["namespace", app.namespace, stringAt(template, "metadata", "namespace")],
  ] as const;
  for (const [what, expected, actual] of mismatches) {
    if (expected === actual) continue;
    throw new RenderInputError(
      `${kindAndName(template)}: the grant of cluster ${grant.cluster} is for ${what} ${expected}, ` +
        `but was given ${actual ?? "none"}; it is rendered again when both are available`,
    );
  }
  for (const { cluster: name, instances, addresses } of topology.clusters) {
    if (instances.length === addresses.length) continue;
    throw new RenderInputError(
      `topology ${topology.version}: cluster ${name} has ${instances.length} instances but ${addresses.length} addresses`,
    );
  }
}

function checkUnique(manifests: readonly MemberManifest[]): void {
  const seen = new Set<string>();
  for (const { key, role } of manifests) {
    if (seen.has(key)) {
      throw new RenderInputError(
        `${key}: the ${role} has the name of another object of this application; rename that one`,
      );
    }
    seen.add(key);
  }
}

function isRenderError(error: unknown): error is RenderError {
  return (
    error instanceof OverrideError ||
    error instanceof OverrideTouchesGrantError ||
    error instanceof LimitError ||
    error instanceof RenderInputError
  );
}
