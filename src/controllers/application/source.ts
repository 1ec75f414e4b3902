import type { ParsedDistributedApplication } from "../../api/index.ts";
import type { ArchiveLocation, ChartLocation, ChartSource, Credentials, YamlRead } from "../../charts/index.ts";
import type { EngineCluster } from "../../engine/index.ts";
import { labelSelectorMatches } from "../../render/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { HubReader } from "../common/hub/hub-reader.ts";
import { digestOfAny, outlineOf } from "./inputs-digest.ts";
import { digestOf } from "./manifest.ts";
import { type ReadValues, readAtOnce } from "./values.ts";

type Spec = ParsedDistributedApplication["spec"];
type Override = NonNullable<Spec["overrides"]>[number];

/** What one group of clusters is rendered from: the same source, values and patches. */
export interface VariantInput {
  readonly clusters: readonly string[];
  readonly source: ChartSource;
  readonly patches: ReadonlyArray<NonNullable<Override["patches"]>[number]>;
  /** A digest of everything that the result depends on. */
  readonly inputs: string;
}

export type Inputs =
  | {
      readonly kind: "inputs";
      /** Of what the revision depends on: the same inputs are never rendered again. */
      readonly digest: string;
      /** With the credentials: they change no result, but new ones are worth another attempt. */
      readonly attempt: string;
      readonly variants: readonly VariantInput[];
    }
  | { readonly kind: "pending" | "refused"; readonly message: string; readonly remedy: string };

/** Thrown while inputs are gathered: something is not known yet, or cannot be used. */
class Missing extends Error {
  override readonly name = "Missing";
  readonly kind: "pending" | "refused";
  readonly remedy: string;
  constructor(kind: "pending" | "refused", message: string, remedy: string) {
    super(message);
    this.kind = kind;
    this.remedy = remedy;
  }
}

/** What the application is rendered from. Everything is read in its own namespace, and nowhere else. */
export function gatherInputs(
  reader: HubReader,
  key: string,
  app: ParsedDistributedApplication,
  chosen: readonly string[],
  fleet: ReadonlyMap<string, EngineCluster>,
  readValues: ReadValues = readAtOnce,
): Inputs {
  try {
    const groups = new Map<string, { clusters: string[]; overrides: readonly Override[] }>();
    groups.set("", { clusters: [], overrides: [] });
    for (const cluster of chosen) {
      const overrides = (app.spec.overrides ?? []).filter((override) => isFor(override, cluster, fleet.get(cluster)));
      if (overrides.length === 0) continue;
      const id = digestOf({ overrides: JSON.parse(JSON.stringify(overrides)) });
      const group = groups.get(id);
      if (group) group.clusters.push(cluster);
      else groups.set(id, { clusters: [cluster], overrides });
    }
    const base = baseOf(reader, key, app, readValues);
    const { targetNamespace: namespace, lookups } = app.spec;
    const variants = [...groups.values()].map(({ clusters, overrides }): VariantInput => {
      const values = overrides.flatMap((override) => (override.values ? [override.values] : []));
      const patches = overrides.flatMap((override) => override.patches ?? []);
      const source = withValues(base, values);
      const inputs = digestOfAny({ source: withoutCredentials(source), patches, namespace, lookups });
      return { clusters, source, patches, inputs };
    });
    const digest = digestOfAny(variants.map(({ clusters, inputs }) => ({ clusters, inputs })));
    return { kind: "inputs", digest, attempt: outlineOf(variants).digest, variants };
  } catch (error) {
    if (!(error instanceof Missing)) throw error;
    return { kind: error.kind, message: error.message, remedy: error.remedy };
  }
}

export function isFor(
  { clusters }: Pick<Override, "clusters">,
  name: string,
  cluster: EngineCluster | undefined,
): boolean {
  if (clusters.names) return clusters.names.includes(name);
  return cluster !== undefined && labelSelectorMatches({ ...clusters.selector }, cluster.labels);
}

function withValues(source: ChartSource, values: readonly JsonObject[]): ChartSource {
  return source.kind === "helm" ? { ...source, values: [...source.values, ...values] } : source;
}

function baseOf(
  reader: HubReader,
  key: string,
  { metadata, spec }: ParsedDistributedApplication,
  readValues: ReadValues,
): ChartSource {
  const { helm, kustomize, manifests } = spec.source;
  const read = (kind: "ConfigMap" | "Secret", name: string) => dataOf(reader, key, metadata.namespace, kind, name);
  if (helm) {
    const layers = (helm.valuesFrom ?? []).map(({ configMap, secret, key: entry }) => {
      const [kind, name] =
        configMap === undefined ? (["Secret", secret ?? ""] as const) : (["ConfigMap", configMap] as const);
      const parse = (text: string) => readValues(key, metadata.namespace, text);
      return { kind, values: parseValues(kind, `${kind} ${name}, key ${entry}`, read(kind, name).get(entry), parse) };
    });
    const secretValues = layers.flatMap(({ kind, values }) => (kind === "Secret" ? [values] : []));
    return {
      kind: "helm",
      chart: locationOf(helm, read),
      releaseName: helm.releaseName ?? metadata.name,
      values: [...layers.map(({ values }) => values), ...(helm.values ? [helm.values] : [])],
      ...(secretValues.length > 0 && { secretValues }),
    };
  }
  if (kustomize) {
    const { path, oci, archive = {}, credentials } = kustomize;
    const known = credentials && { credentials: credentialsOf(read("Secret", credentials.secret)) };
    const location = oci === undefined ? archiveOf(archive, read) : { oci, version: "", ...known };
    return { kind: "kustomize", path, archive: location };
  }
  if (manifests?.inline) return { kind: "manifests", objects: manifests.inline };
  const entries = [...read("ConfigMap", manifests?.configMap ?? "")].sort(([a], [b]) => (a < b ? -1 : 1));
  return { kind: "manifestText", text: entries.map(([, bytes]) => bytes.toString("utf8")).join("\n---\n") };
}

type Read = (kind: "ConfigMap" | "Secret", name: string) => ReadonlyMap<string, Buffer>;
type Helm = NonNullable<Spec["source"]["helm"]>;

function locationOf({ repository, chart, oci, archive, version = "", credentials }: Helm, read: Read): ChartLocation {
  const known = credentials && { credentials: credentialsOf(read("Secret", credentials.secret)) };
  if (repository !== undefined && chart !== undefined) return { repository, chart, version, ...known };
  if (oci !== undefined) return { oci, version, ...known };
  return { archive: archiveOf(archive ?? {}, read) };
}

function credentialsOf(data: ReadonlyMap<string, Buffer>): Credentials {
  const [username, password, ca] = ["username", "password", "ca.crt"].map((key) => data.get(key)?.toString("utf8"));
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(ca !== undefined && { ca }),
  };
}

function archiveOf({ configMap, url, sha256 }: NonNullable<Helm["archive"]>, read: Read): ArchiveLocation {
  if (url !== undefined && sha256 !== undefined) return { url, sha256 };
  const [bytes, ...more] = [...read("ConfigMap", configMap ?? "").values()];
  if (!bytes || more.length > 0) {
    const message = `ConfigMap ${configMap} must have exactly one entry, the archive`;
    throw new Missing("refused", message, "Store the archive as its only binaryData entry.");
  }
  return { bytes };
}

function parseValues(
  kind: "ConfigMap" | "Secret",
  where: string,
  bytes: Buffer | undefined,
  parse: (text: string) => YamlRead | undefined,
): JsonObject {
  if (!bytes)
    throw new Missing("refused", `${where} does not exist`, "Create it, or correct spec.source.helm.valuesFrom.");
  const read = parse(bytes.toString("utf8"));
  if (!read) throw new Missing("pending", `${where} is being read`, "No action needed.");
  if (read.kind === "invalid") {
    // What a parser says quotes what it has read.
    const why = kind === "Secret" ? "" : `: ${read.message}`;
    throw new Missing("refused", `${where} is no YAML${why}`, "Correct it.");
  }
  if (isJsonObject(read.value)) return read.value;
  throw new Missing("refused", `${where} holds no map of values`, "Correct it.");
}

function dataOf(reader: HubReader, key: string, namespace: string, kind: "ConfigMap" | "Secret", name: string) {
  const found = reader.get(key, { apiVersion: "v1", kind, namespace, name });
  if (found.kind === "unknown") throw new Missing("pending", `${kind} ${name} is being read`, "No action needed.");
  if (found.kind === "absent") {
    throw new Missing("refused", `${kind} ${namespace}/${name} does not exist`, "Create it, or correct spec.source.");
  }
  const { data, binaryData } = found.object;
  const entries = new Map<string, Buffer>();
  for (const [entry, text] of Object.entries(isJsonObject(data) ? data : {})) {
    if (typeof text === "string") entries.set(entry, Buffer.from(text, kind === "Secret" ? "base64" : "utf8"));
  }
  for (const [entry, text] of Object.entries(isJsonObject(binaryData) ? binaryData : {})) {
    if (typeof text === "string") entries.set(entry, Buffer.from(text, "base64"));
  }
  return entries;
}

/**
 * Credentials open the way to a source and are no part of it: rotating them must not render anything again. Nor must it
 * matter which of the values came from a Secret.
 */
function withoutCredentials(source: ChartSource): ChartSource {
  const { kind } = source;
  if (kind === "kustomize") return { ...source, archive: openly(source.archive) };
  if (kind !== "helm") return source;
  const { chart } = source;
  const opened = "archive" in chart ? { archive: openly(chart.archive) } : openly(chart);
  return { ...source, chart: opened, secretValues: undefined };
}

function openly<Location extends object>(location: Location): Location {
  return { ...location, credentials: undefined };
}
