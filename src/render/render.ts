import type { AppIdentity, Grant, RevisionId, TopologyView } from "../plan/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { LimitError, OverrideTouchesGrantError, type RenderError, RenderInputError } from "./errors.ts";
import { kindAndName, nameOf, sameMeaning, sortKeys, stringAt } from "./json.ts";
import { valueAtPointer } from "./json-patch.ts";
import { checkLimits } from "./limits.ts";
import { headlessService, isOwnService, type NetworkSettings, serviceExport } from "./network.ts";
import { type AppliedOverride, applyOverrides, OverrideError } from "./overrides.ts";
import { contentDigest, type RevisionContent } from "./revision.ts";
import { sanitize } from "./sanitize.ts";
import type { ClusterFacts } from "./selectors.ts";
import { topologyConfigMap } from "./topology-files.ts";
import { grantWorkload, type MemberSettings, type ReplicaSource, stampContract, stampPodTemplate } from "./workload.ts";

export interface RenderInput {
  app: AppIdentity;
  cluster: ClusterFacts;
  grant: Grant;
  /** The content of `grant.revision`. */
  revision: { id: RevisionId; content: RevisionContent };
  /** The view of `grant.topologyVersion`. */
  topology: TopologyView;
  /** The planner's `initialCluster(ledger, grant)`. */
  initialCluster: string;
  /** What the instances below the partition still run: its dependencies stay until nobody uses them. */
  baseRevision?: RevisionContent;
  replicas?: ReplicaSource;
  network?: NetworkSettings;
  /** What a StatefulSet has to follow besides its grant. */
  member?: MemberSettings;
}

export type ManifestRole = "dependency" | "topology" | "service" | "serviceExport" | "workload";

export interface MemberManifest {
  role: ManifestRole;
  /** `apiVersion/kind namespace/name`, unique in the result. */
  key: string;
  object: JsonObject;
}

export type RenderResult =
  | {
      ok: true;
      /** In the order in which they must be applied: each one's needs come before it, the workload is last. */
      manifests: MemberManifest[];
      workload: JsonObject;
      applied: AppliedOverride[];
    }
  | { ok: false; error: RenderError };

/**
 * What one member must hold for its grant. Pure; the same input gives the same text. On any error nothing may be
 * written to that member: it goes on with what it has.
 */
export function renderMember(input: RenderInput): RenderResult {
  try {
    checkInput(input);
    const dependencies = dependenciesOf(input.cluster, input.revision.content);
    const workload = renderWorkload(input, dependencies);
    const manifests = [
      ...leftovers(input, dependencies),
      ...dependencies,
      ...ownManifests(input, workload.object, dependencies),
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
  // Of this cluster's copies, so that pods restart only where an override really changed something.
  const digest = contentDigest(dependencies.map(({ object }) => object));
  const stamps = { restart, dependencyDigest: content.dependencyDigest === undefined ? undefined : digest };
  const granted = grantWorkload(content.template, grant, replicas ?? { kind: "native" }, member);
  const overridden = override(stampPodTemplate(granted.object, stamps), cluster, content, granted.grantPaths);
  return { object: sortedObject(stampContract(overridden.object, { ...input, restart })), applied: overridden.applied };
}

/** What only the instances below the partition still use. */
function leftovers({ cluster, baseRevision }: RenderInput, dependencies: readonly MemberManifest[]): MemberManifest[] {
  const named = new Set(dependencies.map(({ key }) => key));
  return baseRevision ? dependenciesOf(cluster, baseRevision).filter(({ key }) => !named.has(key)) : [];
}

function ownManifests(
  { app, grant, topology, initialCluster, network }: RenderInput,
  workload: JsonObject,
  dependencies: readonly MemberManifest[],
): MemberManifest[] {
  const result = [manifest("topology", topologyConfigMap(app, grant, topology, initialCluster))];
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
 * Applies the revision's policies, and refuses the rule that changes what is not its to change. Sanitized again, as
 * Karmada prunes after its overrides: a policy can neither own the object nor ask the hub to retain the member's count.
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
        `but was given ${actual ?? "none"}; it is rendered again when both are at hand`,
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
