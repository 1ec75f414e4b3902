import { choice, flag, integer, list, map, object, optional, text, time } from "./build.ts";
import {
  DAY_SECONDS,
  DNS_LABEL,
  DNS_SUBDOMAIN,
  LABEL_CHARS,
  MAX_CLUSTERS,
  NAME_CHARS,
  REVISION_CHARS,
} from "./names.ts";
import { failover, updateStrategy } from "./rollout-spec.ts";

/** What a user declares: `spec` of CrossClusterStatefulset. */

const labelSelector = object("Selects the object by its labels; exactly one object must match.", {
  matchLabels: optional(
    map("Labels the object must carry, with these values.", text("The label's value.", { maxLength: LABEL_CHARS }), {
      maxProperties: 32,
    }),
  ),
  matchExpressions: optional(
    list(
      "Requirements on labels; all must hold.",
      object("One requirement.", {
        key: text("The label's key.", { minLength: 1, maxLength: 317 }),
        operator: choice("How key and values relate.", ["In", "NotIn", "Exists", "DoesNotExist"]),
        values: optional(
          list("Values for In and NotIn.", text("A value.", { maxLength: LABEL_CHARS }), { maxItems: 32 }),
        ),
      }),
      { maxItems: 16 },
    ),
  ),
});

const groupOf = (variable: string) =>
  `(${variable}.apiVersion.contains('/') ? ${variable}.apiVersion.split('/')[0] : '')`;

const resourceSelector = object(
  "The object on the hub that is spread over the clusters: a StatefulSet, or a custom resource whose operator runs in the members.",
  {
    apiVersion: text("The object's apiVersion, for example apps/v1.", {
      minLength: 1,
      maxLength: 317,
      pattern: "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?$",
    }),
    kind: text("The object's kind, for example StatefulSet.", {
      minLength: 1,
      maxLength: LABEL_CHARS,
      pattern: "^[A-Za-z][A-Za-z0-9]*$",
    }),
    namespace: optional(
      text("The object's namespace. Only the CrossClusterStatefulset's own is allowed. Absent: that one.", {
        minLength: 1,
        maxLength: LABEL_CHARS,
        pattern: DNS_LABEL,
      }),
    ),
    name: optional(text("The object's name.", { minLength: 1, maxLength: NAME_CHARS, pattern: DNS_SUBDOMAIN })),
    labelSelector: optional(labelSelector),
  },
  {
    rules: [
      {
        rule: "has(self.name) != has(self.labelSelector)",
        message: "resourceSelector needs exactly one of name and labelSelector",
      },
      {
        rule: `self.kind == oldSelf.kind && ${groupOf("self")} == ${groupOf("oldSelf")} && has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name) && (!has(self.labelSelector) || !has(oldSelf.labelSelector) || self.labelSelector == oldSelf.labelSelector)`,
        message:
          "resourceSelector is immutable (only the version in apiVersion may change): create another CrossClusterStatefulset for another object",
      },
    ],
  },
);

const topology = object(
  "Which clusters, and how many instances in each. Absent: the engine's schedule result.",
  {
    clusters: list(
      "The clusters, in the order that counts for Listed updates and for ordinals.",
      object("One cluster.", {
        name: text("Name of the member cluster.", { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_SUBDOMAIN }),
        replicas: optional(
          integer("Instances in this cluster. 0 drains it. Either all clusters have replicas, or all have a weight.", {
            minimum: 0,
            maximum: 10_000,
          }),
        ),
        weight: optional(
          integer("This cluster's share when spec.replicas is divided by weight.", { minimum: 1, maximum: 1_000_000 }),
        ),
      }),
      { minItems: 1, maxItems: MAX_CLUSTERS, identity: ["name"] },
    ),
  },
  {
    rules: [
      {
        rule: "self.clusters.all(c, has(c.replicas) && !has(c.weight)) || self.clusters.all(c, has(c.weight) && !has(c.replicas))",
        message:
          "topology.clusters: give every cluster replicas, or give every cluster a weight; not both, not neither",
      },
    ],
  },
);

const leader = object(
  "How to tell which instance leads. Absent: what an operator on the contract reports; otherwise no leader is known.",
  {
    fieldPath: optional(
      text(
        "Path in the member's object to the leading instance's name, the leading cluster's name, or a boolean, for example status.leader.",
        { minLength: 1, maxLength: 256, pattern: "^[A-Za-z_][\\w-]*(\\.[A-Za-z_][\\w-]*|\\[[0-9]+\\])*$" },
      ),
    ),
    luaScript: optional(
      text("Lua with a function GetLeader(observedObj) that returns the leading instance's name, or nil.", {
        minLength: 1,
        maxLength: 16_384,
      }),
    ),
    podLabel: optional(
      text("Label that the leading pod carries, as key=value, for example role=leader.", {
        minLength: 3,
        maxLength: 384,
        pattern: "^([a-z0-9.-]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?=[-A-Za-z0-9_.]*$",
      }),
    ),
  },
  {
    rules: [
      {
        rule: "[has(self.fieldPath), has(self.luaScript), has(self.podLabel)].exists_one(x, x)",
        message: "leader needs exactly one of fieldPath, luaScript and podLabel",
      },
    ],
  },
);

const completion = object(
  "How Lockstep knows that a cluster has done what it was given.",
  {
    protocol: choice(
      "Contract: the operator reports status.crossCluster with the epoch it acted on. HeldSpec: the operator knows nothing of Lockstep; the spec is held back until it may act, and observedGeneration shows that it did. StatefulSet: Kubernetes' own fields. Auto: StatefulSet for apps/v1 StatefulSets, else HeldSpec.",
      ["Auto", "Contract", "HeldSpec", "StatefulSet"],
      { default: "Auto" },
    ),
    assumeAfterSeconds: optional(
      integer(
        "For an operator without observedGeneration: take a healthy cluster for done so long after the write. Absent: it cannot be verified, and the rollout says so and waits.",
        { minimum: 1, maximum: DAY_SECONDS },
      ),
    ),
  },
  { default: {} },
);

const identity = object(
  "How instances are numbered and named over all clusters.",
  {
    mode: optional(
      choice(
        "Blocks: every cluster owns a block of ordinals (StatefulSets). Dense: the next free ordinal, in any cluster (operators on the contract). PerCluster: the identity is cluster and local name (adopted or unaware workloads). Absent: chosen by workload when it is first seen, then kept. Immutable.",
        ["Blocks", "Dense", "PerCluster"],
        {
          rules: [
            { rule: "self == oldSelf", message: "identity.mode is immutable: it would rename running instances" },
          ],
        },
      ),
    ),
    blockSize: integer(
      "In mode Blocks, ordinals per cluster, and so the most instances a cluster can hold. Immutable.",
      {
        minimum: 1,
        maximum: 10_000,
        default: 100,
        rules: [
          { rule: "self == oldSelf", message: "identity.blockSize is immutable: it would renumber running instances" },
        ],
      },
    ),
    clusterIDs: optional(
      map(
        "What a cluster is called in addresses, by its name. Absent for a cluster: its name. Once given, an ID is immutable.",
        text("The cluster's ID.", {
          minLength: 1,
          maxLength: LABEL_CHARS,
          pattern: DNS_LABEL,
          rules: [
            { rule: "self == oldSelf", message: "identity.clusterIDs: an ID is immutable, addresses contain it" },
          ],
        }),
        {
          maxProperties: MAX_CLUSTERS,
          rules: [
            {
              rule: "self.all(a, self.all(b, a == b || self[a] != self[b]))",
              message: "identity.clusterIDs: two clusters have the same ID; give each its own",
            },
          ],
        },
      ),
    ),
    addressTemplate: optional(
      text(
        "An instance's address, with {instance}, {ordinal}, {cluster} (the cluster's ID), {service} and {namespace} filled in; a port may follow. Absent: {instance}.{cluster}.{service}.{namespace}.svc.clusterset.local.",
        {
          minLength: 1,
          maxLength: 512,
          rules: [
            {
              rule: "self.matches('^([^{}]|[{](instance|ordinal|cluster|service|namespace)[}])+$')",
              message:
                "identity.addressTemplate: only {instance}, {ordinal}, {cluster}, {service} and {namespace} can be filled in",
            },
          ],
        },
      ),
    ),
    reuseVolumes: optional(
      flag(
        "Whether an ordinal may be used again while a volume of its old holder may exist. Absent: true for StatefulSets inside their own block, which is Kubernetes' own behaviour, false otherwise.",
      ),
    ),
  },
  {
    default: {},
    rules: [
      {
        rule: "!has(oldSelf.mode) || has(self.mode)",
        message: "identity.mode is immutable: it cannot be removed once it is set",
      },
    ],
  },
);

const network = object(
  "How instances find each other by name across clusters.",
  {
    serviceName: optional(
      text("Name of the headless Service. Absent: a StatefulSet's spec.serviceName, else the selected object's name.", {
        minLength: 1,
        maxLength: LABEL_CHARS,
        pattern: DNS_LABEL,
      }),
    ),
    headlessService: choice(
      "Whether Lockstep ships the headless Service to the members. Auto: for StatefulSets.",
      ["Auto", "Always", "Never"],
      {
        default: "Auto",
      },
    ),
    serviceExport: choice(
      "Whether Lockstep exports that Service to the other clusters (ServiceExport of multicluster.x-k8s.io). Auto: not exported.",
      ["Auto", "Always", "Never"],
      { default: "Auto" },
    ),
    publishNotReadyAddresses: flag(
      "Whether instances are found before they are ready, which most quorum systems need to start.",
      {
        default: true,
      },
    ),
    ports: optional(
      list(
        "Ports of the headless Service. Absent: the ports of the pod template's containers.",
        object("One port.", {
          name: text("The port's name.", { minLength: 1, maxLength: 15, pattern: DNS_LABEL }),
          port: integer("The port's number.", { minimum: 1, maximum: 65_535 }),
        }),
        { maxItems: 32, identity: ["name"] },
      ),
    ),
  },
  { default: {} },
);

const keepOrDelete = (description: string) => choice(description, ["Retain", "Delete"], { default: "Retain" });

export const crossClusterStatefulsetSpec = object(
  "What is wanted.",
  {
    resourceSelector,
    topology: optional(topology),
    replicas: optional(
      integer(
        "Instances over all clusters, also for kubectl scale. With replicas per cluster in spec.topology it must be their sum. Absent: that sum, else what the selected object says.",
        { minimum: 0, maximum: 100_000 },
      ),
    ),
    podManagementPolicy: choice(
      "First deployment. OrderedReady: one membership change at a time. Parallel: all at once, every instance knows the full topology from the start.",
      ["OrderedReady", "Parallel"],
      { default: "OrderedReady" },
    ),
    leader: optional(leader),
    quorum: choice(
      "Majority: by its own action Lockstep never takes the ready instances below a majority of all. None: the application has no quorum; only maxUnavailable counts.",
      ["Majority", "None"],
      { default: "Majority" },
    ),
    memberConcurrency: choice(
      "How a cluster treats its own instances during an update. Serial: one at a time. Parallel: maybe all at once, so an update of the cluster costs them all.",
      ["Serial", "Parallel"],
      { default: "Serial" },
    ),
    minReadySeconds: integer("How long a cluster must stay complete and healthy before it counts as done.", {
      minimum: 0,
      maximum: DAY_SECONDS,
      default: 0,
    }),
    revisionHistoryLimit: integer("Old revisions that are kept to go back to.", {
      minimum: 0,
      maximum: 100,
      default: 10,
    }),
    completion,
    updateStrategy,
    restartedAt: optional(
      time(
        "Restarts every instance, in the order of an update, each time this changes; `lockstep restart` sets it to now. It is part of the revision.",
      ),
    ),
    undo: optional(
      object(
        "Go back to an earlier revision and stay there until the selected object changes; `lockstep undo` sets it. Undoing to the object's own revision takes an earlier undo, or a rejection, back.",
        {
          to: text("The revision to run, one of status.history.", { minLength: 1, maxLength: REVISION_CHARS }),
          at: time("When it was asked for. Each is heard once: the same undo again needs a new time."),
        },
      ),
    ),
    resumedAt: optional(
      time(
        "Ends a halt (a failed step, an adoption with differences) each time this changes; `lockstep resume` sets it to now. Not to be mixed up with updateStrategy.rollingUpdate.paused.",
      ),
    ),
    failover,
    deletionPolicy: choice(
      "What deleting this object does. Release: nothing moves, every cluster keeps running what it has, without Lockstep. Teardown: the application is removed from every cluster.",
      ["Release", "Teardown"],
      { default: "Release" },
    ),
    retentionPolicy: object(
      "What becomes of the instances' volumes.",
      {
        whenScaled: keepOrDelete("When an instance is scaled away."),
        whenDeleted: keepOrDelete("When the application is torn down."),
      },
      { default: {} },
    ),
    identity,
    network,
  },
  {
    rules: [
      {
        rule: "!has(self.replicas) || !has(self.topology) || self.topology.clusters.exists(c, !has(c.replicas)) || self.topology.clusters.map(c, c.replicas).sum() == self.replicas",
        message: "replicas must be the sum of topology.clusters[].replicas: change one of them, or use weights",
        fieldPath: ".replicas",
      },
      {
        rule: "!has(self.identity.mode) || self.identity.mode != 'Blocks' || !has(self.topology) || self.topology.clusters.all(c, !has(c.replicas) || c.replicas <= self.identity.blockSize)",
        message: "in identity mode Blocks a cluster holds at most identity.blockSize instances: lower its replicas",
        fieldPath: ".topology",
      },
      {
        rule: "self.updateStrategy.rollingUpdate.onFailure != 'Rollback' || self.revisionHistoryLimit > 0",
        message:
          "onFailure: Rollback needs a revision to go back to: set revisionHistoryLimit to at least 1, or use onFailure: Pause",
        fieldPath: ".updateStrategy.rollingUpdate.onFailure",
      },
      {
        rule: "!has(self.completion.assumeAfterSeconds) || self.completion.protocol in ['Auto', 'HeldSpec']",
        message:
          "completion.assumeAfterSeconds is for operators that report nothing: remove it, or set completion.protocol to HeldSpec",
        fieldPath: ".completion.assumeAfterSeconds",
      },
      {
        rule: "self.network.serviceExport != 'Always' || self.network.headlessService != 'Never' || has(self.network.serviceName)",
        message:
          "network.serviceExport: Always needs a Service: set network.serviceName, or let headlessService be Auto or Always",
        fieldPath: ".network.serviceExport",
      },
    ],
  },
);
