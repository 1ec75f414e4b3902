import { SchemaError } from "../../api/index.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  ownField,
  sameJson,
  timestamp,
  valueAt,
} from "../../runtime/index.ts";
import { define } from "../builtin/kinds.ts";
import type { Core } from "../core.ts";
import { problem } from "../request/status.ts";
import { type Collector, removeFinalizer } from "../store/collector.ts";
import { deleteObject, rewrite } from "../store/deletion.ts";
import type { StoreEvent } from "../store/store.ts";
import { listAt, objectAt, setDefault, simplePath, textAt } from "../store/values.ts";
import type { WatchHub } from "../store/watch.ts";
import type { FieldProblem, KubeObject, PrinterColumn, ResourceDefinition, Strategy } from "../types.ts";
import { apiVersionOf, type Registry } from "./registry.ts";
import type { SchemaCache } from "./schema-cache.ts";
import { customShape } from "./schema-shape.ts";

export const CRDS = "apiextensions.k8s.io/customresourcedefinitions";

/** Keeps a CRD until the last of its objects is gone. */
const CLEANUP = "customresourcecleanup.apiextensions.k8s.io";

const VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/** CustomResourceDefinitions: the kind itself, and the kinds that they define. */
export class CustomResources {
  readonly #now: () => number;
  readonly #schemas: SchemaCache;
  #registry: Registry | undefined;

  constructor(now: () => number, schemas: SchemaCache) {
    this.#now = now;
    this.#schemas = schemas;
  }

  /** The built-in kind CustomResourceDefinition. */
  definition(): ResourceDefinition {
    const strategy: Strategy = {
      generation: true,
      defaults: namesDefaults,
      prepareForCreate: (crd) => {
        crd.metadata.finalizers = [...new Set([...(crd.metadata.finalizers ?? []), CLEANUP])];
        crd.status = this.#statusOf(crd, undefined);
      },
      prepareForUpdate: (crd, old) => {
        if (!sameJson(ownField(crd, "spec"), ownField(old, "spec"))) crd.status = this.#statusOf(crd, old);
      },
      validate: (crd, old) => this.#validate(crd, old),
    };
    return define("apiextensions.k8s.io", "v1", {
      kind: "CustomResourceDefinition",
      shortNames: ["crd", "crds"],
      categories: ["api-extensions"],
      clusterScoped: true,
      status: true,
      strategy,
    });
  }

  /** Follows the CRDs of a server from now on. */
  attach(core: Core, hub: WatchHub, collector: Collector): void {
    this.#registry = core.registry;
    for (const { object } of core.store.objects(CRDS, "")) this.#serve(object);
    core.store.listen((event) => this.#observe(event, core, hub, collector));
  }

  #observe({ type, key, old, current }: StoreEvent, core: Core, hub: WatchHub, collector: Collector): void {
    if (key.resource !== CRDS) {
      if (type === "DELETED") collector.later(() => finishDeletion(core, crdNameOf(key.resource)));
      return;
    }
    if (type === "DELETED") {
      core.registry.replace(resourceOf(current.object), []);
      hub.closeKind(resourceOf(current.object));
      return;
    }
    const { spec, status } = current.object;
    if (!old || !sameJson(spec, old.object.spec) || !sameJson(status, old.object.status)) this.#serve(current.object);
    const { deletionTimestamp } = current.object.metadata;
    if (deletionTimestamp !== undefined && old?.object.metadata.deletionTimestamp === undefined) {
      collector.later(() => {
        deleteInstances(core, resourceOf(current.object));
        collector.later(() => finishDeletion(core, key.name));
      });
    }
  }

  #serve(crd: KubeObject): void {
    const accepted = conditionStatus(crd, "Established") === "True";
    this.#registry?.replace(resourceOf(crd), accepted ? this.#definitionsOf(crd) : []);
  }

  #definitionsOf(crd: KubeObject): ResourceDefinition[] {
    const group = textAt(crd, "spec", "group") ?? "";
    const names = objectAt(crd, "spec", "names") ?? {};
    const kind = textAt(names, "kind") ?? "";
    const plural = textAt(names, "plural") ?? "";
    const storage = textAt(storageVersion(crd), "name") ?? "";
    return versionsOf(crd)
      .filter((version) => version.served === true)
      .map((version) => {
        const name = textAt(version, "name") ?? "";
        const schema = objectAt(version, "schema", "openAPIV3Schema") ?? {};
        return {
          group,
          version: name,
          kind,
          listKind: textAt(names, "listKind") ?? `${kind}List`,
          plural,
          singular: textAt(names, "singular") ?? "",
          shortNames: texts(ownField(names, "shortNames")),
          categories: texts(ownField(names, "categories")),
          namespaced: textAt(crd, "spec", "scope") === "Namespaced",
          verbs: VERBS,
          subresources: subresourcesOf(version),
          resource: resourceOf(crd),
          builtIn: false,
          storageApiVersion: apiVersionOf({ group, version: storage }),
          schema: this.#schemas.compile(schema),
          openAPISchema: schema,
          columns: listAt(version, "additionalPrinterColumns").flatMap(columnOf),
          shape: customShape(schema),
          strategy: { requireResourceVersion: true, fieldSelectors: selectableFields(version) },
          ...(version.deprecated === true && { deprecationWarning: deprecationOf(version, group, kind) }),
        };
      });
  }

  #statusOf(crd: KubeObject, old: KubeObject | undefined): JsonObject {
    const names = objectAt(crd, "spec", "names") ?? {};
    const taken = this.#conflict(crd);
    const since = (type: string, status: string) => {
      const before = conditionOf(old, type);
      return before && textAt(before, "status") === status ? textAt(before, "lastTransitionTime") : undefined;
    };
    const condition = (type: string, status: string, reason: string, message: string): JsonObject => ({
      type,
      status,
      lastTransitionTime: since(type, status) ?? timestamp(this.#now()),
      reason,
      message,
    });
    const stored = textAt(storageVersion(crd), "name") ?? "";
    const before = listAt(old, "status", "storedVersions");
    return {
      conditions: taken
        ? [
            condition("NamesAccepted", "False", taken.reason, taken.message),
            condition("Established", "False", "NotAccepted", "not all names are accepted"),
          ]
        : [
            condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
          ],
      acceptedNames: taken ? { plural: "", kind: "" } : { ...names },
      storedVersions: before.includes(stored) ? [...before] : [...before, stored],
    };
  }

  /** Whether another kind of the same group already has one of the names. */
  #conflict(crd: KubeObject): { reason: string; message: string } | undefined {
    const registry = this.#registry;
    const group = textAt(crd, "spec", "group") ?? "";
    const names = objectAt(crd, "spec", "names") ?? {};
    for (const other of registry?.storages() ?? []) {
      if (other.group !== group || other.resource === resourceOf(crd)) continue;
      const used = [other.plural, other.singular, ...other.shortNames];
      for (const field of ["plural", "singular"]) {
        const name = textAt(names, field);
        if (name !== undefined && used.includes(name)) return inUse(field, name);
      }
      for (const name of texts(ownField(names, "shortNames")))
        if (used.includes(name)) return inUse("shortNames", name);
      if (textAt(names, "kind") === other.kind) return inUse("kind", other.kind);
    }
    return undefined;
  }

  #validate(crd: KubeObject, old: KubeObject | undefined): FieldProblem[] {
    const group = textAt(crd, "spec", "group") ?? "";
    const plural = textAt(crd, "spec", "names", "plural") ?? "";
    const problems: FieldProblem[] = [];
    if (group === "") problems.push(problem.required("spec.group"));
    if (plural === "") problems.push(problem.required("spec.names.plural"));
    if ((textAt(crd, "spec", "names", "kind") ?? "") === "") problems.push(problem.required("spec.names.kind"));
    if (crd.metadata.name !== `${plural}.${group}`) {
      problems.push(problem.invalid("metadata.name", crd.metadata.name, 'must be spec.names.plural+"."+spec.group'));
    }
    const scope = textAt(crd, "spec", "scope");
    if (scope !== "Namespaced" && scope !== "Cluster") {
      problems.push(problem.notSupported("spec.scope", scope ?? "", ["Cluster", "Namespaced"]));
    }
    const conversion = textAt(crd, "spec", "conversion", "strategy") ?? "None";
    if (conversion !== "None") problems.push(problem.notSupported("spec.conversion.strategy", conversion, ["None"]));
    const versions = versionsOf(crd);
    if (versions.filter((version) => version.storage === true).length !== 1) {
      problems.push(
        problem.invalid(
          "spec.versions",
          versions.map((each) => each.name ?? ""),
          "must have exactly one version marked as storage version",
        ),
      );
    }
    for (const [index, version] of versions.entries()) problems.push(...this.#validateVersion(version, index));
    for (const path of [
      ["spec", "scope"],
      ["spec", "names", "kind"],
      ["spec", "names", "plural"],
      ["spec", "group"],
    ]) {
      if (old && !sameJson(valueAt(crd, ...path), valueAt(old, ...path))) {
        problems.push(problem.invalid(path.join("."), valueAt(crd, ...path) ?? null, "field is immutable"));
      }
    }
    return problems;
  }

  #validateVersion(version: JsonObject, index: number): FieldProblem[] {
    const at = `spec.versions[${index}]`;
    const name = textAt(version, "name") ?? "";
    if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) {
      return [problem.invalid(`${at}.name`, name, "must be a DNS-1035 label, such as v1alpha1")];
    }
    const schema = objectAt(version, "schema", "openAPIV3Schema");
    if (!schema) return [problem.required(`${at}.schema.openAPIV3Schema`, "schemas are required")];
    try {
      this.#schemas.compile(schema);
      return [];
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      const field = error.path === "" ? "" : `.${error.path}`;
      return [problem.forbidden(`${at}.schema.openAPIV3Schema${field}`, error.reason)];
    }
  }
}

export function resourceOf(crd: KubeObject): string {
  return `${textAt(crd, "spec", "group") ?? ""}/${textAt(crd, "spec", "names", "plural") ?? ""}`;
}

function crdNameOf(resource: string): string {
  const slash = resource.indexOf("/");
  return `${resource.slice(slash + 1)}.${resource.slice(0, slash)}`;
}

function versionsOf(crd: KubeObject): JsonObject[] {
  return listAt(crd, "spec", "versions").filter(isJsonObject);
}

function storageVersion(crd: KubeObject): JsonObject | undefined {
  return versionsOf(crd).find((version) => version.storage === true);
}

function namesDefaults(crd: KubeObject): void {
  const names = objectAt(crd, "spec", "names");
  const kind = textAt(names, "kind");
  if (names && kind !== undefined) {
    setDefault(names, "singular", kind.toLowerCase());
    setDefault(names, "listKind", `${kind}List`);
  }
  const spec = objectAt(crd, "spec");
  if (spec) setDefault(spec, "conversion", { strategy: "None" });
}

function conditionOf(crd: KubeObject | undefined, type: string): JsonObject | undefined {
  return listAt(crd, "status", "conditions")
    .filter(isJsonObject)
    .find((condition) => condition.type === type);
}

function conditionStatus(crd: KubeObject, type: string): string | undefined {
  return textAt(conditionOf(crd, type), "status");
}

function inUse(field: string, name: string): { reason: string; message: string } {
  const reason = `${field.charAt(0).toUpperCase()}${field.slice(1)}Conflict`;
  return { reason, message: `${JSON.stringify(name)} is already in use` };
}

function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function subresourcesOf(version: JsonObject): ResourceDefinition["subresources"] {
  const scale = objectAt(version, "subresources", "scale");
  const labelSelectorPath = textAt(scale, "labelSelectorPath");
  return {
    ...(objectAt(version, "subresources", "status") && { status: true }),
    ...(scale && {
      scale: {
        specReplicasPath: textAt(scale, "specReplicasPath") ?? "",
        statusReplicasPath: textAt(scale, "statusReplicasPath") ?? "",
        ...(labelSelectorPath !== undefined && { labelSelectorPath }),
      },
    }),
  };
}

function columnOf(column: Json): PrinterColumn[] {
  const name = textAt(column, "name");
  const jsonPath = textAt(column, "jsonPath");
  if (name === undefined || jsonPath === undefined) return [];
  const format = textAt(column, "format");
  const description = textAt(column, "description");
  const priority = valueAt(column, "priority");
  return [
    {
      name,
      jsonPath,
      type: textAt(column, "type") ?? "string",
      ...(format !== undefined && { format }),
      ...(description !== undefined && { description }),
      ...(typeof priority === "number" && { priority }),
    },
  ];
}

function selectableFields(version: JsonObject): Record<string, (object: KubeObject) => string> {
  const readers: Record<string, (object: KubeObject) => string> = {};
  for (const field of listAt(version, "selectableFields")) {
    const path = simplePath(textAt(field, "jsonPath") ?? "");
    readers[path.join(".")] = (object) => {
      const value = valueAt(object, ...path);
      return value === undefined || value === null ? "" : String(value);
    };
  }
  return readers;
}

function deprecationOf(version: JsonObject, group: string, kind: string): string {
  return textAt(version, "deprecationWarning") ?? `${group}/${textAt(version, "name")} ${kind} is deprecated`;
}

function deleteInstances(core: Core, resource: string): void {
  const definition = core.registry.findStorage(resource);
  if (!definition) return;
  for (const { key } of [...core.store.objects(resource, "")]) {
    if (core.store.get(key)) deleteObject(core, definition, key, {});
  }
}

/** Removes a CRD that is being deleted and has no objects left. */
function finishDeletion(core: Core, name: string): void {
  const crd = core.store.get({ resource: CRDS, namespace: "", name });
  const definition = core.registry.findStorage(CRDS);
  if (!crd || !definition || crd.object.metadata.deletionTimestamp === undefined) return;
  if (core.store.count(resourceOf(crd.object)) > 0 || !crd.object.metadata.finalizers?.includes(CLEANUP)) return;
  rewrite(core, definition, crd, (object) => removeFinalizer(object, CLEANUP));
}
