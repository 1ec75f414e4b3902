import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { Quantity, type QuantityFormat } from "./quantity.ts";

/** Thrown when a pod template has another type in a field than Kubernetes allows. */
export class WrongShape extends Error {
  constructor(field: string, expected: string) {
    super(`the field ${field} must be ${expected}`);
    this.name = "WrongShape";
  }
}

/**
 * What one replica of a pod template needs, as Karmada computes it: the sum over the containers, at least the largest
 * init container, plus the overhead; and what it demands of a node. undefined if nothing at all.
 */
export function podRequirements(template: Json): JsonObject | undefined {
  const spec = objectAt(template, "spec") ?? {};
  const nodeClaim = nodeClaimOf(spec);
  const resourceRequest = requestOf(spec);
  if (nodeClaim === undefined && resourceRequest === undefined) return undefined;
  return { ...(nodeClaim && { nodeClaim }), ...(resourceRequest && { resourceRequest }) };
}

function nodeClaimOf(spec: JsonObject): JsonObject | undefined {
  const affinity = objectAt(objectAt(spec, "affinity"), "nodeAffinity");
  const hardNodeAffinity = objectAt(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  const nodeSelector = objectAt(spec, "nodeSelector");
  const tolerations = listAt(spec, "tolerations");
  const claim: JsonObject = {};
  if (hardNodeAffinity !== undefined) claim.hardNodeAffinity = hardNodeAffinity;
  if (nodeSelector !== undefined && Object.keys(nodeSelector).length > 0) claim.nodeSelector = nodeSelector;
  if (tolerations.length > 0) claim.tolerations = tolerations;
  return Object.keys(claim).length === 0 ? undefined : claim;
}

/** CPU counts in thousandths, everything else in whole units; parts of a unit are rounded up per container. */
const MILLI = -3;

function requestOf(spec: JsonObject): JsonObject | undefined {
  const totals = new Map<string, bigint>();
  for (const container of listAt(spec, "containers")) {
    for (const [name, amount] of amountsOf(requestsOf(container))) totals.set(name, (totals.get(name) ?? 0n) + amount);
  }
  for (const container of listAt(spec, "initContainers")) {
    for (const [name, amount] of amountsOf(requestsOf(container))) {
      if (amount > (totals.get(name) ?? 0n)) totals.set(name, amount);
    }
  }
  for (const [name, amount] of amountsOf(objectAt(spec, "overhead") ?? {})) {
    totals.set(name, (totals.get(name) ?? 0n) + amount);
  }
  const request: JsonObject = {};
  for (const [name, amount] of totals) {
    if (amount > 0n) request[name] = new Quantity(amount, exponentOf(name), formatOf(name)).toString();
  }
  return Object.keys(request).length === 0 ? undefined : request;
}

/** A limit without a request is a request. */
function requestsOf(container: Json): JsonObject {
  const resources = objectAt(container, "resources");
  return { ...objectAt(resources, "limits"), ...objectAt(resources, "requests") };
}

function amountsOf(quantities: JsonObject): [string, bigint][] {
  return Object.entries(quantities)
    .filter(([name]) => isCounted(name))
    .map(([name, value]) => [name, quantityOf(name, value).roundUp(exponentOf(name))]);
}

function quantityOf(name: string, value: Json | undefined): Quantity {
  if (typeof value === "string") return Quantity.parse(value.trim());
  if (typeof value === "number") return Quantity.parse(String(value));
  throw new WrongShape(`resources.${name}`, "a quantity");
}

const STANDARD_RESOURCES = ["cpu", "memory", "ephemeral-storage", "pods"];

/** Besides the standard ones, resources of a domain, huge pages and attachable volumes. */
function isCounted(name: string): boolean {
  if (STANDARD_RESOURCES.includes(name)) return true;
  if (name.startsWith("hugepages-") || name.startsWith("attachable-volumes-")) return true;
  return name.includes("/") && !name.startsWith("requests.");
}

function exponentOf(name: string): number {
  return name === "cpu" ? MILLI : 0;
}

function formatOf(name: string): QuantityFormat {
  const isBinary = name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");
  return isBinary ? "BinarySI" : "DecimalSI";
}

/** What a pod template refers to: config maps, secrets, its service account and volume claims. */
export function podDependencies(template: Json, namespace: string): Json | undefined {
  const spec = objectAt(template, "spec") ?? {};
  const account = nameAt(spec, "serviceAccountName");
  const names: [string, Iterable<string>][] = [
    ["ConfigMap", configMapNames(spec)],
    ["Secret", secretNames(spec)],
    ["ServiceAccount", account === "default" ? [] : [account]],
    [
      "PersistentVolumeClaim",
      listAt(spec, "volumes").map((each) => nameAt(each, "persistentVolumeClaim", "claimName")),
    ],
  ];
  const references = names.flatMap(([kind, found]) =>
    [...new Set(found)]
      .filter((name) => name !== "")
      .map((name) => ({ apiVersion: "v1", kind, ...(namespace !== "" && { namespace }), name })),
  );
  return references.length === 0 ? undefined : references;
}

function allContainers(spec: JsonObject): Json[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((field) => listAt(spec, field));
}

function* configMapNames(spec: JsonObject): Generator<string> {
  for (const container of allContainers(spec)) {
    for (const source of listAt(container, "envFrom")) yield nameAt(source, "configMapRef", "name");
    for (const variable of listAt(container, "env")) yield nameAt(variable, "valueFrom", "configMapKeyRef", "name");
  }
  for (const volume of listAt(spec, "volumes")) {
    const projected = objectAt(volume, "projected");
    if (projected === undefined) yield nameAt(volume, "configMap", "name");
    else for (const source of listAt(projected, "sources")) yield nameAt(source, "configMap", "name");
  }
}

/** A volume has one source; where several are given, the first in this order counts. */
const SECRET_VOLUMES: readonly (readonly [source: string, ...path: string[]])[] = [
  ["azureFile", "secretName"],
  ["cephfs", "secretRef", "name"],
  ["cinder", "secretRef", "name"],
  ["flexVolume", "secretRef", "name"],
  ["projected"],
  ["rbd", "secretRef", "name"],
  ["secret", "secretName"],
  ["scaleIO", "secretRef", "name"],
  ["iscsi", "secretRef", "name"],
  ["storageos", "secretRef", "name"],
  ["csi", "nodePublishSecretRef", "name"],
];

function* secretNames(spec: JsonObject): Generator<string> {
  for (const reference of listAt(spec, "imagePullSecrets")) yield nameAt(reference, "name");
  for (const container of allContainers(spec)) {
    for (const source of listAt(container, "envFrom")) yield nameAt(source, "secretRef", "name");
    for (const variable of listAt(container, "env")) yield nameAt(variable, "valueFrom", "secretKeyRef", "name");
  }
  for (const volume of listAt(spec, "volumes")) {
    const path = SECRET_VOLUMES.find(([source]) => objectAt(volume, source) !== undefined);
    if (path === undefined) continue;
    if (path[0] !== "projected") yield nameAt(volume, ...path);
    else {
      for (const source of listAt(objectAt(volume, "projected"), "sources")) yield nameAt(source, "secret", "name");
    }
  }
}

function objectAt(value: Json | undefined, field: string): JsonObject | undefined {
  const child = isJsonObject(value) ? value[field] : undefined;
  if (child === undefined || child === null) return undefined;
  if (!isJsonObject(child)) throw new WrongShape(field, "an object");
  return child;
}

function listAt(value: Json | undefined, field: string): Json[] {
  const child = isJsonObject(value) ? value[field] : undefined;
  if (child === undefined || child === null) return [];
  if (!Array.isArray(child)) throw new WrongShape(field, "a list");
  return child;
}

/** The text at the end of a path; empty where there is none. */
function nameAt(value: Json | undefined, ...path: string[]): string {
  let current = value;
  for (const field of path.slice(0, -1)) current = objectAt(current, field);
  const field = path.at(-1) ?? "";
  const name = isJsonObject(current) ? current[field] : undefined;
  if (name === undefined || name === null) return "";
  if (typeof name !== "string") throw new WrongShape(field, "a string");
  return name;
}
