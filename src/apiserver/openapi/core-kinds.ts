import {
  CORE,
  choice,
  flag,
  int32,
  intOrString,
  keyedList,
  list,
  META,
  map,
  microTime,
  object,
  open,
  quantities,
  ref,
  type Schema,
  setList,
  text,
  time,
} from "./fields.ts";
import { kind } from "./meta-kinds.ts";

const strings = (description: string) => list({ type: "string" }, description);
const bytes = (description: string) => map({ type: "string", format: "byte" }, description);

/** Kinds without a status condition of their own format share this one. */
const condition = (extra: Record<string, Schema> = {}) =>
  object(
    "One aspect of the object's state.",
    {
      lastTransitionTime: time("When the status last changed."),
      message: text("For people."),
      reason: text("For programs."),
      status: choice("Whether the condition holds.", "True", "False", "Unknown"),
      type: text("The condition's name."),
      ...extra,
    },
    ["type", "status"],
  );

export const CORE_DEFINITIONS: Record<string, Schema> = {
  [`${CORE}.ConfigMap`]: kind("Configuration as keys and values.", {
    binaryData: bytes("Values that are not text, base64."),
    data: map({ type: "string" }, "Values that are text."),
    immutable: flag("True: the data is immutable."),
  }),
  [`${CORE}.Secret`]: kind("Confidential data as keys and values.", {
    data: bytes("The values, base64."),
    immutable: flag("True: the data is immutable."),
    stringData: map({ type: "string" }, "Values as text; written into data, never read back."),
    type: text("What the data is for, such as Opaque or kubernetes.io/tls."),
  }),
  [`${CORE}.Namespace`]: kind("A scope for names.", {
    spec: object("The desired state.", {
      finalizers: strings("Finalizers that must finish before the namespace is removed."),
    }),
    status: object("The state as last seen.", {
      conditions: keyedList(condition(), "type", "Why a deletion waits."),
      phase: choice("The lifecycle phase of the namespace.", "Active", "Terminating"),
    }),
  }),
  [`${CORE}.Node`]: kind("A machine that runs pods.", {
    spec: object("The desired state.", {
      configSource: open("No longer used."),
      externalID: text("No longer used."),
      podCIDR: text("The pods' addresses."),
      podCIDRs: setList({ type: "string" }, "The pods' addresses, one range per family."),
      providerID: text("The machine's id at its provider."),
      taints: list(open("key, value, effect."), "Taints that repel pods."),
      unschedulable: flag("True: no new pods (cordoned)."),
    }),
    status: object("The state as last seen.", {
      addresses: keyedList(open("type, address."), "type", "The node's addresses."),
      allocatable: quantities("What pods may use."),
      capacity: quantities("What the machine has."),
      conditions: keyedList(
        condition({ lastHeartbeatTime: time("When it was last reported.") }),
        "type",
        "Conditions such as Ready.",
      ),
      config: open("No longer used."),
      daemonEndpoints: open("The kubelet's port."),
      declaredFeatures: strings("Features the node declares."),
      features: open("What the runtime can do."),
      images: list(open("names, sizeBytes."), "Images on the node."),
      nodeInfo: open("Versions and ids of the machine."),
      phase: text("No longer used."),
      runtimeHandlers: list(open("One handler."), "The runtime's handlers."),
      volumesAttached: list(open("name, devicePath."), "Volumes attached."),
      volumesInUse: strings("Volumes in use."),
    }),
  }),
  [`${CORE}.Service`]: kind("A stable name for a set of pods.", {
    spec: ref(CORE, "ServiceSpec", "The desired state."),
    status: object("The state as last seen.", {
      conditions: keyedList(ref(META, "Condition"), "type", "Conditions of the service."),
      loadBalancer: open("The load balancer's addresses."),
    }),
  }),
  [`${CORE}.ServiceSpec`]: object("How the pods are reached.", {
    allocateLoadBalancerNodePorts: flag("Whether a load balancer gets node ports."),
    clusterIP: text('The service\'s address; "None" makes it headless: names of pods resolve to their own addresses.'),
    clusterIPs: strings("The service's addresses, one per family."),
    externalIPs: strings("Further addresses that reach the service."),
    externalName: text("The DNS name of an ExternalName service."),
    externalTrafficPolicy: choice("How external traffic is distributed.", "Cluster", "Local"),
    healthCheckNodePort: int32("The port of a load balancer's health check."),
    internalTrafficPolicy: choice("How internal traffic is distributed.", "Cluster", "Local"),
    ipFamilies: strings("IPv4, IPv6 or both."),
    ipFamilyPolicy: choice("How many families.", "SingleStack", "PreferDualStack", "RequireDualStack"),
    loadBalancerClass: text("Which load balancer implementation."),
    loadBalancerIP: text("The address requested of the load balancer."),
    loadBalancerSourceRanges: strings("Address ranges that may reach the load balancer."),
    ports: keyedList(ref(CORE, "ServicePort"), "port", "The ports.", ["port", "protocol"]),
    publishNotReadyAddresses: flag(
      "Whether pods resolve before they are ready, for peers that must find each other to become ready.",
    ),
    selector: map({ type: "string" }, "Labels of the pods."),
    sessionAffinity: choice("Whether a client stays with a pod.", "ClientIP", "None"),
    sessionAffinityConfig: open("Details of the affinity."),
    trafficDistribution: text("Which endpoints are preferred."),
    type: choice("How the service is exposed.", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
  }),
  [`${CORE}.ServicePort`]: object(
    "One port.",
    {
      appProtocol: text("The application's protocol."),
      name: text("The port's name; needed when there are several."),
      nodePort: int32("The port on every node."),
      port: int32("The service's port."),
      protocol: choice("The protocol.", "TCP", "UDP", "SCTP"),
      targetPort: intOrString("The pods' port, by number or by name."),
    },
    ["port"],
  ),
  [`${CORE}.ServiceAccount`]: kind("An identity for pods.", {
    automountServiceAccountToken: flag("Whether pods get the token."),
    imagePullSecrets: list(open("name."), "Secrets for pulling images."),
    secrets: keyedList(open("name."), "name", "Secrets the pods may use."),
  }),
  [`${CORE}.Endpoints`]: kind("The addresses behind a service.", {
    subsets: list(open("addresses, notReadyAddresses, ports."), "The addresses with their ports."),
  }),
  [`${CORE}.PersistentVolumeClaim`]: kind("A request for a volume.", {
    spec: object("The requested volume.", {
      accessModes: strings("How it is mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod."),
      dataSource: open("The initial content of the volume."),
      dataSourceRef: open("The initial content of the volume, any kind."),
      resources: object("The size.", {
        limits: quantities("The most."),
        requests: quantities("The requested resources: storage."),
      }),
      selector: ref(META, "LabelSelector", "Which volumes may be bound."),
      storageClassName: text("The storage class."),
      volumeAttributesClassName: text("The volume attributes class."),
      volumeMode: choice("Whether it is a file system.", "Filesystem", "Block"),
      volumeName: text("The bound volume."),
    }),
    status: object("The state as last seen.", {
      accessModes: strings("How it can be mounted."),
      allocatedResourceStatuses: map({ type: "string" }, "The state of a resize."),
      allocatedResources: quantities("The reserved size."),
      capacity: quantities("The size."),
      conditions: keyedList(
        condition({ lastProbeTime: time("When it was last checked.") }),
        "type",
        "Conditions of the claim.",
      ),
      currentVolumeAttributesClassName: text("The attributes class in effect."),
      modifyVolumeStatus: open("The state of a change of attributes."),
      phase: choice("The lifecycle phase of the claim.", "Pending", "Bound", "Lost"),
    }),
  }),
  [`${CORE}.PersistentVolume`]: kind("A volume of the cluster.", {
    spec: open("The volume's source, size and claim."),
    status: object("The state as last seen.", {
      lastPhaseTransitionTime: time("When the phase last changed."),
      message: text("For people."),
      phase: choice("The lifecycle phase of the volume.", "Pending", "Available", "Bound", "Released", "Failed"),
      reason: text("For programs."),
    }),
  }),
  [`${CORE}.ObjectReference`]: object("Names an object.", {
    apiVersion: text("Its API version."),
    fieldPath: text("A part of it."),
    kind: text("Its kind."),
    name: text("Its name."),
    namespace: text("Its namespace."),
    resourceVersion: text("Its version."),
    uid: text("Its uid."),
  }),
  [`${CORE}.Event`]: kind(
    "Something that happened to an object.",
    {
      action: text("What was done."),
      count: int32("How often it happened."),
      eventTime: microTime("When it first happened."),
      firstTimestamp: time("When it first happened."),
      involvedObject: ref(CORE, "ObjectReference", "The object it happened to."),
      lastTimestamp: time("When it last happened."),
      message: text("For people."),
      reason: text("For programs: why."),
      related: ref(CORE, "ObjectReference", "A second object."),
      reportingComponent: text("The controller that reports it."),
      reportingInstance: text("The controller's instance."),
      series: open("count and lastObservedTime, for repeated events."),
      source: object("The reporting component.", { component: text("The component."), host: text("Its node.") }),
      type: choice("Normal or Warning.", "Normal", "Warning"),
    },
    ["metadata", "involvedObject"],
  ),
};

export { condition };
