import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { Quantity, type QuantityFormat } from "./quantity.ts";

/** Thrown when a field of a pod template has another type than Kubernetes allows. */
export class WrongShape extends Error {
  constructor(field: string, expected: string) {
    super(`the field ${field} must be ${expected}`);
    this.name = "WrongShape";
  }
}

/** Called with the text of each quantity before it is read. */
export type BeforeQuantity = (text: string) => void;

/**
 * The requirements of one replica of a pod template, as Karmada computes them: the sum over the containers, at least
 * the largest init container, plus the overhead; and the requirements for a node. undefined if there are none.
 */
export function podRequirements(template: Json, before: BeforeQuantity = () => {}): JsonObject | undefined {
  const spec = objectAt(template, "spec") ?? {};
  const nodeClaim = nodeClaimOf(spec);
  const resourceRequest = requestOf(spec, before);
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

/** CPU is counted in thousandths, everything else in whole units; fractions are rounded up per container. */
const MILLI = -3;

function requestOf(spec: JsonObject, before: BeforeQuantity): JsonObject | undefined {
  const totals = new Map<string, bigint>();
  for (const container of listAt(spec, "containers")) {
    for (const [name, amount] of amountsOf(requestsOf(container), before))
      totals.set(name, (totals.get(name) ?? 0n) + amount);
  }
  for (const container of listAt(spec, "initContainers")) {
    for (const [name, amount] of amountsOf(requestsOf(container), before)) {
      if (amount > (totals.get(name) ?? 0n)) totals.set(name, amount);
    }
  }
  for (const [name, amount] of amountsOf(objectAt(spec, "overhead") ?? {}, before)) {
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

function amountsOf(quantities: JsonObject, before: BeforeQuantity): [string, bigint][] {
  return Object.entries(quantities)
    .filter(([name]) => isCounted(name))
    .map(([name, value]) => [name, quantityOf(name, value, before).roundUp(exponentOf(name))]);
}

function quantityOf(name: string, value: Json | undefined, before: BeforeQuantity): Quantity {
  if (typeof value === "string" || typeof value === "number") {
    const text = String(value).trim();
    before(text);
    return Quantity.parse(text);
  }
  throw new WrongShape(`resources.${name}`, "a quantity");
}

const STANDARD_RESOURCES = ["cpu", "memory", "ephemeral-storage", "pods"];

/** A domain, a slash and a name. */
const RESOURCE_NAME_MAX = 317;
/** The longest name of an object. */
const NAME_MAX = 253;

/** In addition to the standard ones: resources of a domain, huge pages and attachable volumes. */
function isCounted(name: string): boolean {
  if (name.length > RESOURCE_NAME_MAX) {
    throw new WrongShape("resources", `named by at most ${RESOURCE_NAME_MAX} characters each`);
  }
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
    distinct(found)
      .filter((name) => name !== "")
      .map((name) => ({ apiVersion: "v1", kind, ...(namespace !== "" && { namespace }), name })),
  );
  return references.length === 0 ? undefined : references;
}

/**
 * Some versions of V8 hash text that looks like a number by a known formula, but not text that starts with a letter.
 */
function distinct(names: Iterable<string>): string[] {
  const byText = new Map<string, string>();
  for (const name of names) byText.set(`n${name}`, name);
  return [...byText.values()];
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

/** A volume has one source; if several are given, the first in this order counts. */
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

/** The text at the end of a path; empty if there is none. */
function nameAt(value: Json | undefined, ...path: string[]): string {
  let current = value;
  for (const field of path.slice(0, -1)) current = objectAt(current, field);
  const field = path.at(-1) ?? "";
  const name = isJsonObject(current) ? current[field] : undefined;
  if (name === undefined || name === null) return "";
  if (typeof name !== "string") throw new WrongShape(field, "a string");
  if (name.length > NAME_MAX) throw new WrongShape(field, `at most ${NAME_MAX} characters long`);
  return name;
}
