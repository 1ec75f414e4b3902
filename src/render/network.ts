import type { AppIdentity } from "../plan/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { RenderInputError } from "./errors.ts";
import { kindAndName, objectAt, stringAt, stringMapAt, valueAt } from "./json.ts";
import { MANAGED_BY } from "./topology-files.ts";

/** What of the instances' network names Lockstep ships itself. */
export interface NetworkSettings {
  headlessService: boolean;
  /** Makes the Service known to the other clusters. */
  serviceExport: boolean;
  /** Both versions are in use; the older one is understood everywhere. */
  serviceExportVersion?: "v1alpha1" | "v1beta1";
  /** Absent: true, because a quorum cannot form of instances that are found only once they are ready. */
  publishNotReadyAddresses?: boolean;
  /** Absent: the ports of the pod template's containers. */
  ports?: ReadonlyArray<{ name: string; port: number }>;
  /** The instances' labels, for kinds whose own spec does not say. */
  selector?: Readonly<Record<string, string>>;
}

export function headlessService(app: AppIdentity, workload: JsonObject, network: NetworkSettings): JsonObject {
  const selector = network.selector ?? stringMapAt(workload, "spec", "selector", "matchLabels");
  if (Object.keys(selector).length === 0) {
    throw new RenderInputError(
      `Service ${app.namespace}/${app.service}: the labels of its instances are not known, because ` +
        `${kindAndName(workload)} has no spec.selector.matchLabels; give the selector, or ship the Service yourself`,
    );
  }
  const ports = network.ports?.map(({ name, port }) => ({ name, port, protocol: "TCP" })) ?? servicePorts(workload);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: app.service, namespace: app.namespace, labels: { ...MANAGED_BY } },
    spec: {
      clusterIP: "None",
      publishNotReadyAddresses: network.publishNotReadyAddresses ?? true,
      selector: { ...selector },
      ...(ports.length > 0 ? { ports } : {}),
    },
  };
}

export function serviceExport(app: AppIdentity, network: NetworkSettings): JsonObject {
  return {
    apiVersion: `multicluster.x-k8s.io/${network.serviceExportVersion ?? "v1alpha1"}`,
    kind: "ServiceExport",
    metadata: { name: app.service, namespace: app.namespace, labels: { ...MANAGED_BY } },
  };
}

/** The pod template's ports, each number and protocol once. A headless Service may also have none. */
function servicePorts(workload: JsonObject): JsonObject[] {
  const containers = valueAt(workload, "spec", "template", "spec", "containers");
  const byNumber = new Map<string, JsonObject>();
  for (const container of Array.isArray(containers) ? containers : []) {
    const ports = isJsonObject(container) ? container.ports : undefined;
    for (const entry of Array.isArray(ports) ? ports : []) {
      if (!isJsonObject(entry) || typeof entry.containerPort !== "number") continue;
      const port = entry.containerPort;
      const protocol = stringAt(entry, "protocol") ?? "TCP";
      const key = `${protocol.toLowerCase()}-${port}`;
      if (!byNumber.has(key)) byNumber.set(key, { name: stringAt(entry, "name") ?? key, port, protocol });
    }
  }
  return [...byNumber.values()];
}

/** A Service of that name among the user's own objects takes the place of Lockstep's. */
export function isOwnService(object: JsonObject, app: AppIdentity): boolean {
  return object.kind === "Service" && objectAt(object, "metadata")?.name === app.service;
}
