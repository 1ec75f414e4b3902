import { choice, embeddedObject, flag, integer, list, map, object, optional, text, time } from "./build.ts";
import { labelSelector } from "./clusters-spec.ts";
import { lifetime } from "./lifetime.ts";
import {
  API_VERSION,
  DAY_SECONDS,
  DNS_LABEL,
  DNS_SUBDOMAIN,
  KIND,
  LABEL_CHARS,
  MAX_CLUSTERS,
  NAME_CHARS,
  REVISION_CHARS,
} from "./names.ts";
import { failover, updateStrategy } from "./rollout-spec.ts";

/** What a user declares: `spec` of CrossClusterStatefulset. */

/** CEL: the API group of something with an apiVersion. */
export const groupOf = (variable: string) =>
  `(${variable}.apiVersion.contains('/') ? ${variable}.apiVersion.split('/')[0] : '')`;

const resourceSelector = object(
  "The object on the hub that runs over the clusters: a StatefulSet, or a custom resource whose operator runs in the members.",
  {
    apiVersion: text("The object's apiVersion, for example apps/v1.", {
      minLength: 1,
      maxLength: 317,
      pattern: API_VERSION,
    }),
    kind: text("The object's kind, for example StatefulSet.", {
      minLength: 1,
      maxLength: LABEL_CHARS,
      pattern: KIND,
    }),
    namespace: optional(
      text(
        "The object's namespace. It must be the CrossClusterStatefulset's own namespace, which is also the default.",
        {
          minLength: 1,
          maxLength: LABEL_CHARS,
          pattern: DNS_LABEL,
        },
      ),
    ),
    name: optional(text("The object's name.", { minLength: 1, maxLength: NAME_CHARS, pattern: DNS_SUBDOMAIN })),
    labelSelector: optional(labelSelector("Selects the object by its labels; exactly one object must match.")),
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

const template = embeddedObject(
  "The workload inline, instead of an object on the hub: a StatefulSet, or a custom resource whose operator runs in the members. It needs spec.topology. metadata.name defaults to the CrossClusterStatefulset's own name; the namespace is always its own. Fields that are left out get the defaults of the member's API server.",
);

const topology = object(
  "Which clusters, and how many instances in each. Absent: the engine's scheduler decides.",
  {
    placementRef: optional(
      object(
        "A Placement in the same namespace that selects the clusters, on hubs of Open Cluster Management. Lockstep divides the instances over them by weight. A cluster that it drops while the cluster is unreachable counts as lost, not as removed. A cluster that it drops later is drained when two readings of the hub, 30 s apart, have proven that.",
        {
          name: text("Name of the Placement.", { minLength: 1, maxLength: NAME_CHARS, pattern: DNS_SUBDOMAIN }),
          score: optional(
            object(
              "Weigh the clusters by a score of an add-on, instead of by weights in clusters. A score decides which cluster gets the next instance, or loses one when the application shrinks; it never moves an instance. A cluster without a valid score keeps what it has and gets nothing new.",
              {
                resourceName: text("Name of the AddOnPlacementScore in each cluster's namespace.", {
                  minLength: 1,
                  maxLength: NAME_CHARS,
                  pattern: DNS_SUBDOMAIN,
                }),
                scoreName: text("Name of the score in it, for example cpuAvailable.", {
                  minLength: 1,
                  maxLength: LABEL_CHARS,
                }),
              },
            ),
          ),
        },
      ),
    ),
    clusters: list(
      "The clusters. Listed updates and ordinals follow this order. With placementRef: weights of clusters that it may select; those that are not listed have weight 1.",
      object("One cluster.", {
        name: text("Name of the member cluster.", { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_SUBDOMAIN }),
        replicas: optional(
          integer("Instances in this cluster; 0 drains it. Either all clusters have replicas, or all have a weight.", {
            minimum: 0,
            maximum: 10_000,
          }),
        ),
        weight: optional(
          integer("This cluster's share when spec.replicas is divided by weight.", { minimum: 1, maximum: 1_000_000 }),
        ),
      }),
      { maxItems: MAX_CLUSTERS, identity: ["name"], default: [] },
    ),
  },
  {
    rules: [
      {
        rule: "has(self.placementRef) || size(self.clusters) > 0",
        message: "topology needs clusters, or placementRef",
      },
      {
        rule: "!has(self.placementRef) || self.clusters.all(c, !has(c.replicas))",
        message:
          "with placementRef, topology.clusters sets weights, not replicas: the Placement decides which clusters there are",
      },
      {
        rule: "!has(self.placementRef) || !has(self.placementRef.score) || size(self.clusters) == 0",
        message: "placementRef.score weighs the clusters: remove topology.clusters, or remove the score",
      },
      {
        rule: "self.clusters.all(c, has(c.replicas) && !has(c.weight)) || self.clusters.all(c, has(c.weight) && !has(c.replicas))",
        message: "topology.clusters: set replicas for every cluster, or set weight for every cluster, but not both",
      },
    ],
  },
);

const leader = object(
  "How to find the leading instance. Absent: Lockstep uses the report of an operator on the contract; otherwise it does not know the leader.",
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
  "How Lockstep verifies that a cluster has carried out its grant.",
  {
    protocol: choice(
      "Contract: the operator reports status.crossCluster with the epoch it acted on. HeldSpec: the operator does not know Lockstep; Lockstep holds the spec back until the operator may act, and observedGeneration proves that it acted. StatefulSet: Kubernetes' own fields. Auto: StatefulSet for apps/v1 StatefulSets, otherwise HeldSpec.",
      ["Auto", "Contract", "HeldSpec", "StatefulSet"],
      { default: "Auto" },
    ),
    assumeAfterSeconds: optional(
      integer(
        "For an operator without observedGeneration: a healthy cluster counts as done this long after the write. Absent: the rollout waits with reason CannotBeVerified.",
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
        "Blocks: every cluster owns a block of ordinals (StatefulSets). Dense: the next free ordinal, in any cluster (operators on the contract). PerCluster: cluster and local name identify an instance (adopted workloads, or operators that do not know Lockstep). Absent: Lockstep chooses by workload on first sight, and keeps the choice. Immutable.",
        ["Blocks", "Dense", "PerCluster"],
        {
          rules: [
            { rule: "self == oldSelf", message: "identity.mode is immutable: it would rename running instances" },
          ],
        },
      ),
    ),
    blockSize: integer(
      "In mode Blocks, ordinals per cluster, which is also the maximum number of instances in a cluster. Immutable.",
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
        "The ID of each cluster in addresses, by cluster name. Absent for a cluster: its name. Once set, an ID is immutable.",
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
        "Whether an ordinal may be reused while a volume of its former instance may exist. Absent: true for StatefulSets inside their own block, as in Kubernetes; false otherwise.",
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
      text(
        "Name of the headless Service. Absent: a StatefulSet's spec.serviceName, otherwise the selected object's name.",
        {
          minLength: 1,
          maxLength: LABEL_CHARS,
          pattern: DNS_LABEL,
        },
      ),
    ),
    headlessService: choice(
      "Whether Lockstep creates the headless Service in the members. Auto: for StatefulSets.",
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
      "Whether DNS publishes instances before they are ready. Most quorum systems need this to start.",
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

export const promote = optional(
  object(
    "Continue past a soak, or outside the maintenance windows, for one revision; `lockstep promote` sets it.",
    {
      revision: text("The revision whose rollout continues: status.rollout.to.", {
        minLength: 1,
        maxLength: REVISION_CHARS,
      }),
      wave: optional(integer("The wave whose soak ends at once. Waves count from 1.", { minimum: 1, maximum: 1000 })),
      window: optional(
        flag("Whether steps of that rollout may start while no maintenance window is open, until the rollout ends."),
      ),
      at: time("When it was requested."),
      by: optional(
        text("The authenticated user who requested it; filled in by `lockstep promote`.", { maxLength: NAME_CHARS }),
      ),
    },
    {
      rules: [
        {
          rule: "has(self.wave) || (has(self.window) && self.window)",
          message: "promote needs the wave whose soak ends, or window: true",
        },
      ],
    },
  ),
);

const transferLeader = optional(
  object(
    "Request to move the leader, once; `lockstep transfer-leader` sets it. It needs updateStrategy.rollingUpdate.leaderTransfer; status.leaderTransfer shows the result.",
    {
      to: text("A cluster (any of its instances), or an instance.", { minLength: 1, maxLength: NAME_CHARS }),
      at: time("When it was requested. Lockstep acts on each request once: the same request again needs a new time."),
      by: optional(
        text("The authenticated user who requested it; filled in by `lockstep transfer-leader`.", {
          maxLength: NAME_CHARS,
        }),
      ),
    },
  ),
);

const keepOrDelete = (description: string) => choice(description, ["Retain", "Delete"], { default: "Retain" });

export const crossClusterStatefulsetSpec = object(
  "The desired state.",
  {
    resourceSelector: optional(resourceSelector),
    template: optional(template),
    topology: optional(topology),
    replicas: optional(
      integer(
        "Instances over all clusters, also for kubectl scale. If spec.topology sets replicas per cluster, it must be their sum. Absent: that sum, otherwise the selected object's replicas.",
        { minimum: 0, maximum: 100_000 },
      ),
    ),
    podManagementPolicy: choice(
      "Order of the first deployment. OrderedReady: one membership change at a time. Parallel: all at once; every instance gets the full topology from the start.",
      ["OrderedReady", "Parallel"],
      { default: "OrderedReady" },
    ),
    leader: optional(leader),
    quorum: choice(
      "Majority: Lockstep's own actions never take the ready instances below a majority of all. None: the application has no quorum; only maxUnavailable applies.",
      ["Majority", "None"],
      { default: "Majority" },
    ),
    memberConcurrency: choice(
      "How a cluster restarts its own instances during an update. Serial: one at a time. Parallel: possibly all at once, so Lockstep counts them all as unavailable during the cluster's update.",
      ["Serial", "Parallel"],
      { default: "Serial" },
    ),
    minReadySeconds: integer("How long a cluster must stay complete and healthy before it counts as done.", {
      minimum: 0,
      maximum: DAY_SECONDS,
      default: 0,
    }),
    revisionHistoryLimit: integer("How many old revisions are kept, so that you can return to them.", {
      minimum: 0,
      maximum: 100,
      default: 10,
    }),
    revisionSettleSeconds: integer(
      "How long the selected object and its dependencies must stay unchanged before Lockstep creates a revision from them, so that one kubectl apply of several files makes one revision. It waits at most ten times as long after the first change. 0: at once.",
      { minimum: 0, maximum: 3600, default: 2 },
    ),
    completion,
    updateStrategy,
    restartedAt: optional(
      time(
        "Restarts every instance, in the order of an update, each time this changes; `lockstep restart` sets it to now. It is part of the revision; while an undo or rejection is in force, the revision in force restarts.",
      ),
    ),
    undo: optional(
      object(
        "Return to an earlier revision and stay there until the selected object's own content changes (not its replicas, labels, annotations, restarts or dependencies); `lockstep undo` sets it. To revert an earlier undo or a rejection, undo to the object's own revision.",
        {
          to: text("The revision to run, one of status.history.", { minLength: 1, maxLength: REVISION_CHARS }),
          at: time("When it was requested. Lockstep acts on each request once: the same undo again needs a new time."),
        },
      ),
    ),
    promote,
    transferLeader,
    resumedAt: optional(
      time(
        "Ends a halt (a failed step, an adoption with differences) each time this changes; `lockstep resume` sets it to now. It does not change updateStrategy.rollingUpdate.paused.",
      ),
    ),
    failover,
    deletionPolicy: choice(
      "What deleting this object does. Release: nothing moves, and every cluster keeps running what it has, without Lockstep. Teardown: Lockstep removes the application from every cluster.",
      ["Release", "Teardown"],
      { default: "Release" },
    ),
    retentionPolicy: object(
      "What happens to the instances' volumes.",
      {
        whenScaled: keepOrDelete("When an instance is removed by scaling."),
        whenDeleted: keepOrDelete("When the application is torn down."),
      },
      { default: {} },
    ),
    lifetime,
    identity,
    network,
  },
  {
    rules: [
      {
        rule: "!has(self.lifetime) || self.deletionPolicy == 'Teardown'",
        message:
          "lifetime needs deletionPolicy: Teardown, because Release would leave every instance running without Lockstep",
        fieldPath: ".lifetime",
      },
      {
        rule: "has(self.resourceSelector) != has(self.template)",
        message:
          "spec needs exactly one of resourceSelector (an object on the hub) and template (the object itself, inline)",
      },
      {
        rule: "!has(self.template) || has(self.topology)",
        message:
          "template needs topology: without an object on the hub the engine's scheduler cannot place the instances",
        fieldPath: ".template",
      },
      {
        rule: "!has(self.replicas) || !has(self.topology) || has(self.topology.placementRef) || self.topology.clusters.exists(c, !has(c.replicas)) || self.topology.clusters.map(c, c.replicas).sum() == self.replicas",
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
          "onFailure: Rollback needs an earlier revision: set revisionHistoryLimit to at least 1, or use onFailure: Pause",
        fieldPath: ".updateStrategy.rollingUpdate.onFailure",
      },
      {
        rule: "!has(self.completion.assumeAfterSeconds) || self.completion.protocol in ['Auto', 'HeldSpec']",
        message:
          "completion.assumeAfterSeconds is for operators that do not report: remove it, or set completion.protocol to HeldSpec",
        fieldPath: ".completion.assumeAfterSeconds",
      },
      {
        rule: "self.network.serviceExport != 'Always' || self.network.headlessService != 'Never' || has(self.network.serviceName)",
        message:
          "network.serviceExport: Always needs a Service: set network.serviceName, or set headlessService to Auto or Always",
        fieldPath: ".network.serviceExport",
      },
    ],
  },
);
