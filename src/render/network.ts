import type { AppIdentity } from "../plan/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../runtime/index.ts";
import { RenderInputError } from "./errors.ts";
import { kindAndName, objectAt, stringAt, stringMapAt } from "./json.ts";
import { MANAGED_BY } from "./topology-files.ts";

/** The objects for the instances' network names that Lockstep creates itself. */
export interface NetworkSettings {
  readonly headlessService: boolean;
  /** Exports the Service to the other clusters. */
  readonly serviceExport: boolean;
  /** Both versions are in use; every implementation supports the older one. */
  readonly serviceExportVersion?: "v1alpha1" | "v1beta1";
  /** Absent: true, because a quorum cannot form if instances are only published once they are ready. */
  readonly publishNotReadyAddresses?: boolean;
  /** Absent: the ports of the pod template's containers. */
  readonly ports?: ReadonlyArray<{ name: string; port: number }>;
  /** The instances' labels, for kinds whose own spec does not contain them. */
  readonly selector?: Readonly<Record<string, string>>;
}

export function headlessService(app: AppIdentity, workload: JsonObject, network: NetworkSettings): JsonObject {
  const selector = network.selector ?? stringMapAt(workload, "spec", "selector", "matchLabels");
  if (Object.keys(selector).length === 0) {
    throw new RenderInputError(
      `Service ${app.namespace}/${app.service}: the labels of its instances are not known, because ` +
        `${kindAndName(workload)} has no spec.selector.matchLabels; set the selector, or create the Service yourself`,
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

/** The pod template's ports, each number and protocol once. A headless Service may have none. */
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

/** A Service of that name among the user's own objects replaces Lockstep's. */
export function isOwnService(object: JsonObject, app: AppIdentity): boolean {
  return object.kind === "Service" && objectAt(object, "metadata")?.name === app.service;
}
