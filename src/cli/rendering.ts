import { createHash } from "node:crypto";
import { networkOf } from "../controllers/index.ts";
import { yamlDiff } from "../interpret/index.ts";
import { type Grant, initialCluster, type Ledger, topologyView } from "../plan/index.ts";
import { type MemberManifest, renderMember } from "../render/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import { CommandError } from "./errors.ts";
import { replicaSource, type Subject } from "./subject.ts";

/** Both spellings of the contract's keys: what a grant says is told step by step, and is noise in a difference. */
const CONTRACT_KEY = /^(crossclusterstatefulset|corssclusterstatefulset)\.karmada\.io\//;

/** What the cluster holds for this grant, as the controller renders it. Undefined: the revision is not kept any more. */
export async function renderGrant(
  subject: Subject,
  ledger: Ledger,
  grant: Grant,
): Promise<readonly MemberManifest[] | undefined> {
  const { statefulset, interpreter, contents, clusters } = subject;
  const content = contents.get(grant.revision);
  const entry = ledger.clusters[grant.cluster];
  if (!content || !ledger.identity) return undefined;
  const base =
    entry?.baseRevision && entry.baseRevision !== grant.revision ? contents.get(entry.baseRevision) : undefined;
  const result = renderMember({
    app: ledger.identity.app,
    cluster: clusters.get(grant.cluster) ?? { name: grant.cluster, labels: {}, zones: [] },
    grant,
    revision: { id: grant.revision, content },
    topology: topologyView(ledger, grant.topologyVersion),
    initialCluster: initialCluster(ledger, grant),
    replicas: await replicaSource(interpreter, content.template, grant.replicas),
    network: networkOf(statefulset),
    retention: statefulset.spec.retentionPolicy,
    ...(base && { baseRevision: base }),
  });
  if (!result.ok) throw new CommandError(`cluster ${grant.cluster}: ${result.error.message}`);
  return result.manifests;
}

/** What changes in one cluster's objects; keys by which a grant is told are left out, and Secrets' values hidden. */
export function manifestDiff(
  before: readonly MemberManifest[],
  after: readonly MemberManifest[],
): { readonly object: string; readonly lines: readonly string[] }[] {
  const [old, now] = [before, after].map((list) => new Map(list.map(({ key, object }) => [key, readable(object)])));
  const keys = new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])]);
  return [...keys].flatMap((key) => {
    const lines = yamlDiff(old?.get(key), now?.get(key));
    return lines.length === 0 ? [] : [{ object: key, lines }];
  });
}

/** For people's eyes: without the contract's own keys, and without secrets. */
function readable(object: JsonObject): JsonObject {
  const hidden = hideSecrets(object);
  const { metadata } = hidden;
  if (!isJsonObject(metadata)) return hidden;
  const kept: JsonObject = { ...metadata };
  for (const field of ["annotations", "labels"]) {
    const map = metadata[field];
    if (!isJsonObject(map)) continue;
    const rest = Object.entries(map).filter(([key]) => !CONTRACT_KEY.test(key));
    if (rest.length > 0) kept[field] = Object.fromEntries(rest);
    else delete kept[field];
  }
  return { ...hidden, metadata: kept };
}

/** A Secret's values as a short hash: whether they change is seen, what they are is not. */
export function hideSecrets(object: JsonObject): JsonObject {
  if (object.apiVersion !== "v1" || object.kind !== "Secret") return object;
  const hide = (values: Json | undefined) =>
    isJsonObject(values)
      ? Object.fromEntries(Object.entries(values).map(([key, value]) => [key, `<hidden, ${digest(value)}>`]))
      : values;
  const { data, stringData, ...rest } = object;
  return {
    ...rest,
    ...(data !== undefined && { data: hide(data) }),
    ...(stringData !== undefined && { stringData: hide(stringData) }),
  };
}

const DIGEST_CHARS = 8;

function digest(value: Json | undefined): string {
  return createHash("sha256")
    .update(JSON.stringify(value) ?? "")
    .digest("hex")
    .slice(0, DIGEST_CHARS);
}
