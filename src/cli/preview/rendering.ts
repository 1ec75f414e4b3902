import { networkOf, renderGrant } from "../../controllers/index.ts";
import { yamlDiff } from "../../interpret/index.ts";
import { type Grant, type Ledger, topologyView } from "../../plan/index.ts";
import type { MemberManifest } from "../../render/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import type { PreviewInput } from "./input.ts";
import { topologyDiff } from "./topology-diff.ts";

/** Both spellings of the contract's keys. The steps already show what a grant says; in a difference it is noise. */
const CONTRACT_KEY = /^(crossclusterstatefulset|corssclusterstatefulset)\.karmada\.io\//;

/**
 * What the cluster holds for this grant, as the controller renders it. Undefined: the revision is not kept any more.
 */
export async function manifestsOf(
  input: PreviewInput,
  ledger: Ledger,
  grant: Grant,
): Promise<readonly MemberManifest[] | undefined> {
  const { statefulset, answers, contents, clusters } = input;
  const content = contents.get(grant.revision);
  if (!content || !ledger.identity) return undefined;
  const base = ledger.clusters[grant.cluster]?.baseRevision ?? grant.revision;
  const render = () =>
    renderGrant({
      spec: statefulset.spec,
      network: networkOf(statefulset),
      ledger,
      grant,
      cluster: clusters.get(grant.cluster),
      content,
      base: base === grant.revision ? undefined : contents.get(base),
      view: topologyView(ledger, grant.topologyVersion),
      interpreter: answers,
    });
  let result = render();
  while (await answers.settle()) result = render();
  if ("kind" in result) throw new CommandError(`cluster ${grant.cluster}: ${result.message}. ${result.remedy}`);
  if (!result.ok) throw new CommandError(`cluster ${grant.cluster}: ${result.error.message}`);
  return result.manifests;
}

type Keyed = Pick<MemberManifest, "key" | "object">;

export interface ObjectDiff {
  /** `apiVersion/kind namespace/name`. */
  readonly object: string;
  readonly change: "new" | "removed" | "changed";
  /** What changed; nothing for an object that is new or removed as a whole. */
  readonly lines: readonly string[];
}

/** What changes in one cluster's objects, without the contract's annotations and with Secrets' values hidden. */
export function manifestDiff(before: readonly Keyed[], after: readonly Keyed[]): ObjectDiff[] {
  const old = new Map(before.map(({ key, object }) => [key, object]));
  const now = new Map(after.map(({ key, object }) => [key, object]));
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((key): ObjectDiff[] => {
    const [left, right] = [old.get(key), now.get(key)];
    if (!left) return [{ object: key, change: "new", lines: [] }];
    if (!right) return [{ object: key, change: "removed", lines: [] }];
    // Of a kept Secret nothing but its name is shown; the pods' own mark tells that a dependency's content has changed.
    if (left.omitted === true || right.omitted === true) return [];
    const lines =
      topologyDiff(left, right) ?? yamlDiff(readable(hideSecrets(left)), readable(hideSecrets(right, left)));
    return lines.length === 0 ? [] : [{ object: key, change: "changed", lines }];
  });
}

/** The same for objects as they are kept in a revision. */
export function objectDiff(before: readonly JsonObject[], after: readonly JsonObject[]): ObjectDiff[] {
  const manifest = (object: JsonObject): Keyed => {
    const { namespace, name } = isJsonObject(object.metadata) ? object.metadata : {};
    const where = namespace === undefined ? "" : `${String(namespace)}/`;
    return { key: `${String(object.apiVersion)}/${String(object.kind)} ${where}${String(name)}`, object };
  };
  return manifestDiff(before.map(manifest), after.map(manifest));
}

/** The object without the contract's annotations. */
function readable(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata)) return object;
  const kept: JsonObject = { ...metadata };
  for (const field of ["annotations", "labels"]) {
    const map = metadata[field];
    if (!isJsonObject(map)) continue;
    const rest = Object.entries(map).filter(([key]) => !CONTRACT_KEY.test(key));
    if (rest.length > 0) kept[field] = Object.fromEntries(rest);
    else delete kept[field];
  }
  return { ...object, metadata: kept };
}

/** A Secret without its values; where another version is given, whether each differs from it can still be seen. */
export function hideSecrets(object: JsonObject, before?: JsonObject): JsonObject {
  if (object.apiVersion !== "v1" || object.kind !== "Secret") return object;
  const result: JsonObject = { ...object };
  for (const field of ["data", "stringData"]) {
    const values = object[field];
    const old = before?.[field];
    if (!isJsonObject(values)) continue;
    result[field] = Object.fromEntries(
      Object.entries(values).map(([key, value]) => {
        const changed = before !== undefined && (!isJsonObject(old) || old[key] !== value);
        return [key, changed ? "<hidden, changed>" : "<hidden>"];
      }),
    );
  }
  return result;
}
