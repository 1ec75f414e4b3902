/** What a pod template asks of a cluster: resources and nodes, and objects beside it. */
import type { JsonObject } from "../../runtime/index.ts";
import { FieldTypeError, objectAt, objectsAt, textAt, textMapAt } from "../fields.ts";
import { Quantity, QuantityError, type QuantityFormat } from "../lua/quantity.ts";
import type { Dependency, ReplicaRequirements } from "../operations.ts";
import { sortedDependencies } from "../results.ts";

/** What one replica asks for; undefined when it asks for nothing. */
export function podRequirements(template: JsonObject): ReplicaRequirements | undefined {
  const spec = objectAt(template, "spec") ?? {};
  const resourceRequest = podRequest(spec);
  const nodeClaim = podNodeClaim(spec);
  if (resourceRequest === undefined && nodeClaim === undefined) return undefined;
  return { ...(nodeClaim && { nodeClaim }), ...(resourceRequest && { resourceRequest }) };
}

function podNodeClaim(spec: JsonObject): ReplicaRequirements["nodeClaim"] {
  const nodeSelector = textMapAt(spec, "nodeSelector");
  const tolerations = objectsAt(spec, "tolerations");
  const hardNodeAffinity = objectAt(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution");
  if (nodeSelector === undefined && hardNodeAffinity === undefined && tolerations.length === 0) return undefined;
  return {
    ...(hardNodeAffinity && { hardNodeAffinity }),
    ...(nodeSelector && { nodeSelector }),
    ...(tolerations.length > 0 && { tolerations }),
  };
}

/** The containers' requests added up, at least what each init container needs alone, plus the pod's overhead. */
function podRequest(spec: JsonObject): Record<string, string> | undefined {
  const amounts = new Map<string, bigint>();
  const add = (name: string, amount: bigint) => amounts.set(name, (amounts.get(name) ?? 0n) + amount);
  for (const container of objectsAt(spec, "containers")) {
    for (const [name, amount] of requestOf(container)) add(name, amount);
  }
  for (const container of objectsAt(spec, "initContainers")) {
    for (const [name, amount] of requestOf(container)) {
      if (amount > (amounts.get(name) ?? 0n)) amounts.set(name, amount);
    }
  }
  for (const [name, amount] of amountsOf(objectAt(spec, "overhead"), "overhead")) add(name, amount);
  const wanted = [...amounts].filter(([, amount]) => amount > 0n);
  if (wanted.length === 0) return undefined;
  return Object.fromEntries(
    wanted.map(([name, amount]) => [name, new Quantity(amount, unitOf(name), formatOf(name)).toString()]),
  );
}

/** A limit without a request is one, as Kubernetes defaults it. */
function requestOf(container: JsonObject): [string, bigint][] {
  const resources = objectAt(container, "resources") ?? {};
  const limits = amountsOf(objectAt(resources, "limits"), "resources.limits");
  const requests = amountsOf(objectAt(resources, "requests"), "resources.requests");
  return [...new Map([...limits, ...requests])];
}

function amountsOf(list: JsonObject | undefined, field: string): [string, bigint][] {
  return Object.entries(list ?? {}).flatMap(([name, value]): [string, bigint][] => {
    if (!isCounted(name)) return [];
    try {
      return [[name, Quantity.parse(String(value)).ceil(unitOf(name))]];
    } catch (error) {
      if (error instanceof QuantityError) throw new FieldTypeError(`${field}.${name}`, "a quantity", value);
      throw error;
    }
  });
}

/** What schedulers count: Kubernetes' own resources, huge pages, and extended ones, which have a domain. */
function isCounted(name: string): boolean {
  return (
    ["cpu", "memory", "ephemeral-storage", "pods"].includes(name) || /^hugepages-|^attachable-volumes-|\//.test(name)
  );
}

/** CPU is counted in thousandths, all else in ones. */
function unitOf(name: string): number {
  return name === "cpu" ? -3 : 0;
}

function formatOf(name: string): QuantityFormat {
  return /^(memory|ephemeral-storage|hugepages-.*)$/.test(name) ? "BinarySI" : "DecimalSI";
}

/** ConfigMaps, Secrets, claims and the service account that the template names, of the owner's namespace. */
export function podDependencies(template: JsonObject, namespace: string | undefined): Dependency[] {
  const spec = objectAt(template, "spec") ?? {};
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => objectsAt(spec, list));
  const volumes = objectsAt(spec, "volumes");
  const found: [kind: string, name: string | undefined][] = [];

  for (const container of containers) {
    for (const source of objectsAt(container, "envFrom")) {
      found.push(
        ["ConfigMap", textAt(source, "configMapRef", "name")],
        ["Secret", textAt(source, "secretRef", "name")],
      );
    }
    for (const variable of objectsAt(container, "env")) {
      found.push(
        ["ConfigMap", textAt(variable, "valueFrom", "configMapKeyRef", "name")],
        ["Secret", textAt(variable, "valueFrom", "secretKeyRef", "name")],
      );
    }
  }
  for (const volume of volumes) {
    found.push(["ConfigMap", textAt(volume, "configMap", "name")]);
    found.push(["PersistentVolumeClaim", textAt(volume, "persistentVolumeClaim", "claimName")]);
    for (const path of VOLUME_SECRETS) found.push(["Secret", textAt(volume, ...path)]);
    for (const source of objectsAt(volume, "projected", "sources")) {
      found.push(["ConfigMap", textAt(source, "configMap", "name")], ["Secret", textAt(source, "secret", "name")]);
    }
  }
  for (const secret of objectsAt(spec, "imagePullSecrets")) found.push(["Secret", textAt(secret, "name")]);
  const account = textAt(spec, "serviceAccountName");
  if (account !== "default") found.push(["ServiceAccount", account]);

  return sortedDependencies(
    found.flatMap(([kind, name]): Dependency[] =>
      name ? [{ apiVersion: "v1", kind, ...(namespace && { namespace }), name }] : [],
    ),
  );
}

/** Where the kinds of volume name a Secret. */
const VOLUME_SECRETS: readonly (readonly string[])[] = [
  ["secret", "secretName"],
  ["azureFile", "secretName"],
  ["csi", "nodePublishSecretRef", "name"],
  ...["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"].map((kind) => [
    kind,
    "secretRef",
    "name",
  ]),
];
