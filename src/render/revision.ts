import { createHash } from "node:crypto";
import { clone, isJsonObject, type JsonObject } from "../runtime/index.ts";
import { meaningText, nameOf, objectAt, stringAt, stringMapAt } from "./json.ts";
import { type IsHold, relevantPolicies } from "./overrides.ts";
import { sanitize } from "./sanitize.ts";
import { topologyConfigMapName } from "./topology-files.ts";
import {
  isStatefulSet,
  NEUTRAL_REPLICAS,
  type ReplicaSource,
  restartsOnPodTemplate,
  withReplicas,
} from "./workload.ts";

/**
 * Everything of one revision that reaches members, as of the creation of the revision. Plain JSON; it may contain
 * Secrets' content, so it must be stored where Secrets are stored.
 */
export interface RevisionContent {
  /** Sanitized; the count and the other fields that a grant decides are neutral. */
  readonly template: JsonObject;
  /** Sanitized, by kind and name. */
  readonly dependencies: readonly JsonObject[];
  /** The override policies that may change them: editing a policy is an update like any other, and goes in order. */
  readonly overrides: readonly JsonObject[];
  /** A restart with the same content: each stamp is a separate revision. */
  readonly restart?: string;
  /** Present: the pod template is marked with its dependencies' content, so that pods restart if only that changed. */
  readonly dependencyDigest?: string;
}

export interface RevisionSource {
  readonly template: JsonObject;
  /** The objects that the template names, according to the interpreter, with their content. */
  readonly dependencies: readonly JsonObject[];
  readonly policies?: readonly JsonObject[];
  readonly isHold?: IsHold;
  readonly restart?: string;
  /** `dependencyDigest` of what pods ran with when they were adopted: while it is unchanged, they carry no mark. */
  readonly adoptedDependencyDigest?: string;
  /** `revised`: the template with NEUTRAL_REPLICAS. */
  readonly replicas?: ReplicaSource;
  /** The interpreter's Prune, for kinds that have one. */
  readonly prune?: (object: JsonObject) => JsonObject;
}

export function snapshotRevision(source: RevisionSource): RevisionContent {
  const { prune = (object: JsonObject) => object, replicas = { kind: "native" } } = source;
  const template = neutralTemplate(sanitize(prune(source.template)), replicas);
  const topologyName = topologyConfigMapName(stringAt(template, "metadata", "name") ?? "");
  const dependencies = source.dependencies
    // The template may name it, but only Lockstep writes it.
    .filter((object) => !(object.kind === "ConfigMap" && stringAt(object, "metadata", "name") === topologyName))
    .map(sanitize)
    .sort(byKindAndName);
  const overrides = relevantPolicies([template, ...dependencies], source.policies ?? [], source.isHold)
    .map(policyContent)
    .sort(byKindAndName);
  const digest = dependencyDigest({ dependencies, overrides });
  const restarts = restartsOnPodTemplate(template) && digest !== source.adoptedDependencyDigest;
  return {
    template,
    dependencies,
    overrides,
    ...(source.restart === undefined ? {} : { restart: source.restart }),
    ...(dependencies.length > 0 && restarts ? { dependencyDigest: digest } : {}),
  };
}

/** A digest of what the dependencies will contain in members: their content, and the policies that may change it. */
export function dependencyDigest({
  dependencies,
  overrides,
}: Pick<RevisionContent, "dependencies" | "overrides">): string {
  const policies = relevantPolicies(dependencies, overrides).map(policyContent);
  return shortHash(meaningText([dependencies.map(dependencyContent), policies]));
}

/** A digest of the dependencies' content, without their labels and annotations. */
export function contentDigest(dependencies: readonly JsonObject[]): string {
  return shortHash(meaningText(dependencies.map(dependencyContent)));
}

/** A digest of everything that is visible to members; formatting and key order do not count. */
export function revisionMeaning(content: RevisionContent): string {
  return createHash("sha256").update(revisionText(content)).digest("hex");
}

/** Two revisions are the same if members cannot distinguish them. */
export function sameRevision(a: RevisionContent, b: RevisionContent): boolean {
  return revisionText(a) === revisionText(b);
}

/**
 * Whether two copies of one workload have the same content, regardless of cluster, count and epoch. This is how
 * Lockstep recognizes that an adopted cluster's manifest is what the template would render there.
 */
export function sameWorkload(a: JsonObject, b: JsonObject, replicas?: ReplicaSource): boolean {
  const [left, right] = [a, b].map((template) => snapshotRevision({ template, dependencies: [], replicas }));
  return left !== undefined && right !== undefined && sameRevision(left, right);
}

export interface NamedRevision {
  /** For example `xline-6f7d9c8b54`; also fits into a label. */
  readonly id: string;
  readonly collisionCount: number;
  readonly isNew: boolean;
}

/** Kubernetes gives up after fewer; each further collision has a probability of one in 10^14. */
const COLLISIONS_MAX = 20;

/**
 * The revision's name. It is derived from the content, so that returning to an old content finds the old name. If a
 * different revision has the name, the next name is used, as for ControllerRevisions. `existing` returns the content of
 * the revision that already has a name.
 */
export function nameRevision(
  content: RevisionContent,
  existing: (id: string) => string | undefined = () => undefined,
): NamedRevision {
  const text = revisionText(content);
  const meaning = revisionMeaning(content);
  for (let collisionCount = 0; collisionCount < COLLISIONS_MAX; collisionCount++) {
    const id = revisionId(stringAt(content.template, "metadata", "name") ?? "", text, collisionCount);
    const found = existing(id);
    if (found === undefined || found === meaning) return { id, collisionCount, isNew: found === undefined };
  }
  throw new RevisionCollisionError(nameOf(content.template), COLLISIONS_MAX);
}

/** Thrown when every possible name of a revision belongs to another content. */
export class RevisionCollisionError extends Error {
  override readonly name = "RevisionCollisionError";
  constructor(object: string, tries: number) {
    super(`${object}: ${tries} revision names in a row belong to other contents; delete revisions that are not in use`);
  }
}

/** A label's value may have 63 characters: the hash, its dash and as much of the name as fits. */
const ID_MAX_CHARS = 63;
const HASH_CHARS = 10;

function revisionId(name: string, text: string, collisionCount: number): string {
  const hash = shortHash(`${collisionCount}\n${text}`);
  const prefix = name.slice(0, ID_MAX_CHARS - HASH_CHARS - 1).replace(/[^a-z0-9]+$/, "");
  return `${prefix}-${hash}`;
}

/** Without vowels and look-alikes, as in Kubernetes' own names: no words, nothing to misread. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

function shortHash(text: string): string {
  const digest = createHash("sha256").update(text).digest();
  let number = digest.readBigUInt64BE(0);
  let result = "";
  for (let index = 0; index < HASH_CHARS; index++) {
    result += ALPHABET[Number(number % BigInt(ALPHABET.length))];
    number /= BigInt(ALPHABET.length);
  }
  return result;
}

function revisionText(content: RevisionContent): string {
  return meaningText({
    template: comparableTemplate(content.template),
    dependencies: content.dependencies.map(dependencyContent),
    overrides: content.overrides.map(policyContent),
    restart: content.restart,
    dependencyDigest: content.dependencyDigest,
  });
}

function comparableTemplate(template: JsonObject): JsonObject {
  const { name, namespace } = objectAt(template, "metadata") ?? {};
  const labels = stringMapAt(template, "metadata", "labels");
  const annotations = stringMapAt(template, "metadata", "annotations");
  return { ...template, metadata: { name, namespace, labels, annotations } };
}

/** Labels and annotations of a dependency change nothing for the pods that use it. */
function dependencyContent(object: JsonObject): JsonObject {
  const { metadata: _metadata, stringData, ...content } = object;
  const result: JsonObject = { ...content, name: nameOf(object) };
  if (isJsonObject(stringData)) {
    const encoded = Object.entries(stringData).map(([key, value]) => [
      key,
      Buffer.from(String(value)).toString("base64"),
    ]);
    result.data = { ...objectAt(object, "data"), ...Object.fromEntries(encoded) };
  }
  return result;
}

function policyContent({ apiVersion, kind, metadata, spec }: JsonObject): JsonObject {
  const { name, namespace } = isJsonObject(metadata) ? metadata : {};
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) }, spec };
}

/** Removes what grants decide, so that scaling, moving and a partition do not make revisions. */
function neutralTemplate(template: JsonObject, replicas: ReplicaSource): JsonObject {
  const result = withReplicas(template, NEUTRAL_REPLICAS, replicas, "lenient").object;
  if (!isStatefulSet(result)) return result;
  const spec = clone(objectAt(result, "spec") ?? {});
  delete spec.ordinals;
  const strategy = objectAt(spec, "updateStrategy");
  if (strategy) {
    const rolling = objectAt(strategy, "rollingUpdate");
    delete strategy.type;
    if (rolling) delete rolling.partition;
    if (rolling && Object.keys(rolling).length === 0) delete strategy.rollingUpdate;
    if (Object.keys(strategy).length === 0) delete spec.updateStrategy;
  }
  return { ...result, spec };
}

function byKindAndName(a: JsonObject, b: JsonObject): number {
  const [left, right] = [a, b].map((object) => `${stringAt(object, "kind") ?? ""} ${nameOf(object)}`);
  return (left ?? "") < (right ?? "") ? -1 : left === right ? 0 : 1;
}
