import { type JsonObject, valueAt } from "../../runtime/index.ts";
import {
  ageColumn,
  type Column,
  column,
  countAt,
  labels,
  NONE,
  nameColumn,
  number,
  numberAt,
  objectsAt,
  selector,
  textAt,
  textsAt,
  wide,
} from "./cells.ts";
import { humanAge } from "./duration.ts";
import { POD_COLUMNS } from "./pods.ts";

const containers = wide(
  column("Containers", (object) =>
    templateContainers(object)
      .map((each) => textAt(each, "name"))
      .join(","),
  ),
);
const images = wide(
  column("Images", (object) =>
    templateContainers(object)
      .map((each) => textAt(each, "image"))
      .join(","),
  ),
);
const workloadSelector = wide(column("Selector", (object) => selector(valueAt(object, "spec", "selector"))));

/** The columns of the built-in kinds, by group and kind. Other kinds show their name and creation time. */
export const BUILT_IN_COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  "/Pod": POD_COLUMNS,
  "apps/StatefulSet": [nameColumn, ready(), ageColumn, containers, images],
  "apps/Deployment": [
    nameColumn,
    ready(),
    number("Up-to-date", (object) => numberAt(object, "status", "updatedReplicas")),
    number("Available", (object) => numberAt(object, "status", "availableReplicas")),
    ageColumn,
    containers,
    images,
    workloadSelector,
  ],
  "apps/ReplicaSet": [
    nameColumn,
    number("Desired", desired),
    number("Current", (object) => numberAt(object, "status", "replicas")),
    number("Ready", (object) => numberAt(object, "status", "readyReplicas")),
    ageColumn,
    containers,
    images,
    workloadSelector,
  ],
  "apps/DaemonSet": [
    nameColumn,
    number("Desired", (object) => numberAt(object, "status", "desiredNumberScheduled")),
    number("Current", (object) => numberAt(object, "status", "currentNumberScheduled")),
    number("Ready", (object) => numberAt(object, "status", "numberReady")),
    number("Up-to-date", (object) => numberAt(object, "status", "updatedNumberScheduled")),
    number("Available", (object) => numberAt(object, "status", "numberAvailable")),
    column("Node Selector", (object) => labels(valueAt(object, "spec", "template", "spec", "nodeSelector"))),
    ageColumn,
    containers,
    images,
    workloadSelector,
  ],
  "batch/Job": [
    nameColumn,
    column("Status", jobStatus),
    column(
      "Completions",
      (job) => `${numberAt(job, "status", "succeeded")}/${valueAt(job, "spec", "completions") ?? 1}`,
    ),
    ageColumn,
    containers,
    images,
    workloadSelector,
  ],
  "batch/CronJob": [
    nameColumn,
    column("Schedule", (object) => textAt(object, "spec", "schedule")),
    column("Timezone", (object) => textAt(object, "spec", "timeZone") || NONE),
    column("Suspend", (object) => (valueAt(object, "spec", "suspend") === true ? "True" : "False")),
    number("Active", (object) => countAt(object, "status", "active")),
    column("Last Schedule", (object, nowMs) => {
      const last = textAt(object, "status", "lastScheduleTime");
      return last ? humanAge(last, nowMs) : NONE;
    }),
    ageColumn,
  ],
  "apps/ControllerRevision": [
    nameColumn,
    column("Controller", controller),
    number("Revision", (object) => numberAt(object, "revision")),
    ageColumn,
  ],
  "/Service": [
    nameColumn,
    column("Type", (object) => textAt(object, "spec", "type") || "ClusterIP"),
    column("Cluster-IP", (object) => textAt(object, "spec", "clusterIP") || NONE),
    column("External-IP", externalAddress),
    column("Port(s)", servicePorts),
    ageColumn,
    wide(column("Selector", (object) => labels(valueAt(object, "spec", "selector")))),
  ],
  "/Node": [
    nameColumn,
    column("Status", nodeStatus),
    column("Roles", nodeRoles),
    ageColumn,
    column("Version", (object) => textAt(object, "status", "nodeInfo", "kubeletVersion")),
    wide(column("Internal-IP", (object) => nodeAddress(object, "InternalIP"))),
    wide(column("External-IP", (object) => nodeAddress(object, "ExternalIP"))),
    wide(column("OS-Image", (object) => textAt(object, "status", "nodeInfo", "osImage") || "<unknown>")),
    wide(column("Kernel-Version", (object) => textAt(object, "status", "nodeInfo", "kernelVersion") || "<unknown>")),
    wide(
      column(
        "Container-Runtime",
        (object) => textAt(object, "status", "nodeInfo", "containerRuntimeVersion") || "<unknown>",
      ),
    ),
  ],
  "/Namespace": [nameColumn, column("Status", (object) => textAt(object, "status", "phase")), ageColumn],
  "/ConfigMap": [
    nameColumn,
    number("Data", (object) => countAt(object, "data") + countAt(object, "binaryData")),
    ageColumn,
  ],
  "/Secret": [
    nameColumn,
    column("Type", (object) => textAt(object, "type")),
    number("Data", (object) => countAt(object, "data")),
    ageColumn,
  ],
  "/ServiceAccount": [nameColumn, number("Secrets", (object) => countAt(object, "secrets")), ageColumn],
  "/PersistentVolumeClaim": [
    nameColumn,
    column("Status", claimStatus),
    column("Volume", (object) => textAt(object, "spec", "volumeName")),
    column("Capacity", (object) => boundOnly(object, String(valueAt(object, "status", "capacity", "storage") ?? ""))),
    column("Access Modes", (object) => boundOnly(object, accessModes(textsAt(object, "status", "accessModes")))),
    column("StorageClass", (object) => textAt(object, "spec", "storageClassName")),
    column("VolumeAttributesClass", (object) => textAt(object, "spec", "volumeAttributesClassName") || "<unset>"),
    ageColumn,
    wide(column("VolumeMode", (object) => textAt(object, "spec", "volumeMode") || "<unset>")),
  ],
  "/PersistentVolume": [
    nameColumn,
    column("Capacity", (object) => String(valueAt(object, "spec", "capacity", "storage") ?? "")),
    column("Access Modes", (object) => accessModes(textsAt(object, "spec", "accessModes"))),
    column("Reclaim Policy", (object) => textAt(object, "spec", "persistentVolumeReclaimPolicy")),
    column("Status", (object) => (isTerminating(object) ? "Terminating" : textAt(object, "status", "phase"))),
    column("Claim", (object) =>
      [textAt(object, "spec", "claimRef", "namespace"), textAt(object, "spec", "claimRef", "name")]
        .filter(Boolean)
        .join("/"),
    ),
    column("StorageClass", (object) => textAt(object, "spec", "storageClassName")),
    column("Reason", (object) => textAt(object, "status", "reason")),
    ageColumn,
  ],
  "/Event": eventColumns("involvedObject", "message", "lastTimestamp", "firstTimestamp", "count", "source"),
  "events.k8s.io/Event": eventColumns(
    "regarding",
    "note",
    "deprecatedLastTimestamp",
    "deprecatedFirstTimestamp",
    "deprecatedCount",
    "deprecatedSource",
  ),
  "coordination.k8s.io/Lease": [
    nameColumn,
    column("Holder", (object) => textAt(object, "spec", "holderIdentity")),
    ageColumn,
  ],
  "/Endpoints": [nameColumn, column("Endpoints", endpointAddresses), ageColumn],
  "policy/PodDisruptionBudget": [
    nameColumn,
    column("Min Available", (object) => String(valueAt(object, "spec", "minAvailable") ?? "N/A")),
    column("Max Unavailable", (object) => String(valueAt(object, "spec", "maxUnavailable") ?? "N/A")),
    number("Allowed Disruptions", (object) => numberAt(object, "status", "disruptionsAllowed")),
    ageColumn,
  ],
  "admissionregistration.k8s.io/ValidatingAdmissionPolicy": [
    nameColumn,
    number("Validations", (object) => countAt(object, "spec", "validations")),
    column(
      "ParamKind",
      (object) =>
        [textAt(object, "spec", "paramKind", "apiVersion"), textAt(object, "spec", "paramKind", "kind")]
          .filter(Boolean)
          .join("/") || "<unset>",
    ),
    ageColumn,
  ],
  "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": [
    nameColumn,
    column("PolicyName", (object) => textAt(object, "spec", "policyName")),
    column("ParamRef", (object) => textAt(object, "spec", "paramRef", "name") || "<unset>"),
    ageColumn,
  ],
};

/** Kinds without their own columns, including CustomResourceDefinition. */
export const DEFAULT_COLUMNS: readonly Column[] = [
  nameColumn,
  {
    ...column("Created At", (object) => textAt(object, "metadata", "creationTimestamp"), "When it was created."),
    type: "date",
  },
];

function ready(): Column {
  return column(
    "Ready",
    (object) => `${numberAt(object, "status", "readyReplicas")}/${desired(object)}`,
    "Ready pods of the desired.",
  );
}

function desired(object: JsonObject): number {
  return numberAt(object, "spec", "replicas");
}

function templateContainers(object: JsonObject): JsonObject[] {
  return objectsAt(object, "spec", "template", "spec", "containers");
}

function jobStatus(job: JsonObject): string {
  const holds = (type: string) =>
    objectsAt(job, "status", "conditions").some((each) => each.type === type && each.status === "True");
  const ended = ["Complete", "Failed"].find(holds);
  if (ended !== undefined) return ended;
  if (isTerminating(job)) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(holds) ?? "Running";
}

function isTerminating(object: JsonObject): boolean {
  return textAt(object, "metadata", "deletionTimestamp") !== "";
}

function controller(object: JsonObject): string {
  const owner = objectsAt(object, "metadata", "ownerReferences").find((each) => each.controller === true);
  if (!owner) return NONE;
  const group = textAt(owner, "apiVersion").split("/").slice(0, -1).join("/");
  const kind = textAt(owner, "kind").toLowerCase();
  return `${group ? `${kind}.${group}` : kind}/${textAt(owner, "name")}`;
}

function externalAddress(service: JsonObject): string {
  const external = textsAt(service, "spec", "externalIPs");
  switch (textAt(service, "spec", "type")) {
    case "ExternalName":
      return textAt(service, "spec", "externalName") || NONE;
    case "LoadBalancer": {
      const assigned = objectsAt(service, "status", "loadBalancer", "ingress").map(
        (each) => textAt(each, "ip") || textAt(each, "hostname"),
      );
      return [...assigned, ...external].join(",") || "<pending>";
    }
    default:
      return external.join(",") || NONE;
  }
}

function servicePorts(service: JsonObject): string {
  const ports = objectsAt(service, "spec", "ports").map((port) => {
    const nodePort = numberAt(port, "nodePort");
    const number = nodePort > 0 ? `${numberAt(port, "port")}:${nodePort}` : numberAt(port, "port");
    return `${number}/${textAt(port, "protocol") || "TCP"}`;
  });
  return ports.join(",") || NONE;
}

function nodeStatus(node: JsonObject): string {
  const condition = objectsAt(node, "status", "conditions").find((each) => each.type === "Ready");
  const words = [!condition ? "Unknown" : condition.status === "True" ? "Ready" : "NotReady"];
  if (valueAt(node, "spec", "unschedulable") === true) words.push("SchedulingDisabled");
  return words.join(",");
}

const ROLE_PREFIX = "node-role.kubernetes.io/";

function nodeRoles(node: JsonObject): string {
  const found = valueAt(node, "metadata", "labels");
  const roles =
    typeof found === "object" && found !== null ? Object.keys(found).filter((key) => key.startsWith(ROLE_PREFIX)) : [];
  return (
    roles
      .map((key) => key.slice(ROLE_PREFIX.length))
      .sort()
      .join(",") || NONE
  );
}

function nodeAddress(node: JsonObject, type: string): string {
  const found = objectsAt(node, "status", "addresses").find((each) => each.type === type);
  return textAt(found, "address") || NONE;
}

function claimStatus(claim: JsonObject): string {
  return isTerminating(claim) ? "Terminating" : textAt(claim, "status", "phase");
}

/** Size and modes are the volume's: there is none before the claim is bound. */
function boundOnly(claim: JsonObject, text: string): string {
  return textAt(claim, "spec", "volumeName") === "" ? "" : text;
}

const ACCESS_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};

function accessModes(modes: string[]): string {
  return modes.map((mode) => ACCESS_MODES[mode] ?? mode).join(",");
}

function eventColumns(
  object: string,
  message: string,
  lastTimestamp: string,
  firstTimestamp: string,
  count: string,
  source: string,
): readonly Column[] {
  const first = (event: JsonObject) => textAt(event, firstTimestamp) || textAt(event, "eventTime");
  const last = (event: JsonObject) =>
    textAt(event, "series", "lastObservedTime") || textAt(event, lastTimestamp) || first(event);
  return [
    column("Last Seen", (event, nowMs) => humanAge(last(event), nowMs)),
    column("Type", (event) => textAt(event, "type")),
    column("Reason", (event) => textAt(event, "reason")),
    column("Object", (event) => `${textAt(event, object, "kind").toLowerCase()}/${textAt(event, object, "name")}`),
    wide(column("Subobject", (event) => textAt(event, object, "fieldPath"))),
    wide(column("Source", (event) => eventSource(event, source))),
    column("Message", (event) => textAt(event, message).trim()),
    wide(column("First Seen", (event, nowMs) => humanAge(first(event), nowMs))),
    wide(number("Count", (event) => numberAt(event, "series", "count") || numberAt(event, count) || 1)),
    wide(nameColumn),
  ];
}

function eventSource(event: JsonObject, source: string): string {
  const component =
    textAt(event, source, "component") || textAt(event, "reportingComponent") || textAt(event, "reportingController");
  const host = textAt(event, source, "host") || textAt(event, "reportingInstance");
  return host ? `${component}, ${host}` : component;
}

/** kubectl shows this many addresses and counts the rest. */
const ADDRESSES_SHOWN = 3;

function endpointAddresses(endpoints: JsonObject): string {
  const all = objectsAt(endpoints, "subsets").flatMap((subset) => {
    const addresses = objectsAt(subset, "addresses").map((each) => textAt(each, "ip"));
    const ports = objectsAt(subset, "ports").map((each) => numberAt(each, "port"));
    if (ports.length === 0) return addresses;
    return addresses.flatMap((address) => ports.map((port) => `${address}:${port}`));
  });
  if (all.length === 0) return NONE;
  const shown = all.slice(0, ADDRESSES_SHOWN).join(",");
  return all.length > ADDRESSES_SHOWN ? `${shown} + ${all.length - ADDRESSES_SHOWN} more...` : shown;
}
