/** Manifests as files: plain YAML, a kustomize base, or a Helm chart. Pure. */
import { stringify } from "yaml";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";

export interface PackagedFile {
  readonly path: string;
  readonly text: string;
}

export interface Chart {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** With placeholders of `chartValue` in them. */
  readonly manifests: readonly JsonObject[];
  readonly values: JsonObject;
  /** Kinds that the chart has only if a value is given: the value's name by kind. */
  readonly onlyWith?: Readonly<Record<string, string>>;
}

export function yamlText(manifests: readonly JsonObject[]): string {
  return manifests.map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n");
}

export function kustomizeBase(manifests: readonly JsonObject[]): PackagedFile[] {
  const kustomization = {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: ["manifests.yaml"],
  };
  return [
    { path: "kustomization.yaml", text: stringify(kustomization) },
    { path: "manifests.yaml", text: yamlText(manifests) },
  ];
}

/** Something that no manifest contains, around the path of a value. */
const MARK = /"?@@([\w.]+)@@"?/g;

/** Stands for a value of the chart (`Values.image`), of any type: JSON is YAML. */
export function chartValue(path: string): string {
  return `@@${path}@@`;
}

/** With these, Helm would delete everything that Lockstep manages: `lockstep uninstall` deletes them in order. */
const KEPT_BY_HELM = ["CustomResourceDefinition", "Namespace"];
const KEEP = { "helm.sh/resource-policy": "keep" };

function keptByHelm(manifest: JsonObject): JsonObject {
  if (!KEPT_BY_HELM.includes(String(manifest.kind)) || !isJsonObject(manifest.metadata)) return manifest;
  const { annotations } = manifest.metadata;
  const kept = { ...(isJsonObject(annotations) ? annotations : {}), ...KEEP };
  return { ...manifest, metadata: { ...manifest.metadata, annotations: kept } };
}

/** One template for each kind. */
export function helmChart({ name, description, version, manifests, values, onlyWith = {} }: Chart): PackagedFile[] {
  const chart = {
    apiVersion: "v2",
    name,
    description,
    type: "application",
    version,
    appVersion: version,
    kubeVersion: ">=1.30.0-0",
  };
  const byKind = new Map<string, JsonObject[]>();
  for (const manifest of manifests) {
    const kind = String(manifest.kind);
    byKind.set(kind, [...(byKind.get(kind) ?? []), keptByHelm(manifest)]);
  }
  return [
    { path: "Chart.yaml", text: stringify(chart) },
    { path: "values.yaml", text: stringify(values) },
    ...[...byKind].map(([kind, objects]) => ({
      path: `templates/${kind.toLowerCase()}.yaml`,
      text: only(onlyWith[kind], template(objects)),
    })),
  ];
}

function only(value: string | undefined, text: string): string {
  return value === undefined ? text : `{{- if .Values.${value} }}\n${text}{{- end }}\n`;
}

function template(objects: readonly JsonObject[]): string {
  // CEL and messages may contain braces, which Helm would read as its own.
  const literal = yamlText(objects).replaceAll("{{", '{{ "{{" }}');
  return literal.replace(MARK, (_, path: string) => `{{ toJson .${path} }}`);
}
