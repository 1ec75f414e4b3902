import { condition } from "./core-kinds.ts";
import {
  CORE,
  choice,
  flag,
  int32,
  int64,
  intOrString,
  keyedList,
  list,
  META,
  microTime,
  object,
  open,
  ref,
  type Schema,
  text,
  time,
} from "./fields.ts";
import { kind } from "./meta-kinds.ts";

const APPS = "io.k8s.api.apps.v1";
const EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
const ADMISSION = "io.k8s.api.admissionregistration.v1";

const strings = (description: string) => list({ type: "string" }, description);
const template = (description: string) => ref(CORE, "PodTemplateSpec", description);
const selector = (description: string) => ref(META, "LabelSelector", description);

const APPS_DEFINITIONS: Record<string, Schema> = {
  [`${APPS}.StatefulSet`]: kind("Pods with lasting names and volumes.", {
    spec: ref(APPS, "StatefulSetSpec", "The desired state."),
    status: ref(APPS, "StatefulSetStatus", "The state as last seen."),
  }),
  [`${APPS}.StatefulSetSpec`]: object(
    "The pods, their number, and how they are replaced.",
    {
      minReadySeconds: int32("Seconds a pod must be ready before it counts as available."),
      ordinals: object("How the pods are numbered.", { start: int32("The first ordinal; 0 if absent.") }),
      persistentVolumeClaimRetentionPolicy: object("What becomes of the pods' claims.", {
        whenDeleted: choice("When the set is deleted.", "Retain", "Delete"),
        whenScaled: choice("When the set is scaled down.", "Retain", "Delete"),
      }),
      podManagementPolicy: choice("Whether pods start one by one.", "OrderedReady", "Parallel"),
      replicas: int32("How many pods; 1 if absent."),
      revisionHistoryLimit: int32("How many old revisions are kept; 10 if absent."),
      selector: selector("Which pods are the set's own. Cannot be changed."),
      serviceName: text("The headless service that names the pods."),
      template: template("The pods."),
      updateStrategy: object("How pods are replaced when the template changes.", {
        rollingUpdate: object("Details of RollingUpdate.", {
          maxUnavailable: intOrString("How many pods may be down at a time."),
          partition: int32("Pods below this ordinal keep the old revision."),
        }),
        type: choice("By the controller, or by deleting pods.", "RollingUpdate", "OnDelete"),
      }),
      volumeClaimTemplates: list(ref(CORE, "PersistentVolumeClaim"), "Claims made for every pod."),
    },
    ["selector", "template"],
  ),
  [`${APPS}.StatefulSetStatus`]: object(
    "The pods as last seen.",
    {
      availableReplicas: int32("Pods ready for minReadySeconds."),
      collisionCount: int32("Collisions of revision names."),
      conditions: keyedList(condition(), "type", "Conditions of the set."),
      currentReplicas: int32("Pods of the current revision."),
      currentRevision: text("The revision the update started from."),
      observedGeneration: int64("The generation this was concluded from."),
      readyReplicas: int32("Ready pods."),
      replicas: int32("Pods there are."),
      updateRevision: text("The revision being rolled out."),
      updatedReplicas: int32("Pods of the update revision."),
    },
    ["replicas"],
  ),
  [`${APPS}.Deployment`]: kind("Pods that are all alike.", {
    spec: object(
      "The pods, their number, and how they are replaced.",
      {
        minReadySeconds: int32("Seconds a pod must be ready before it counts as available."),
        paused: flag("True: nothing is rolled out."),
        progressDeadlineSeconds: int32("Seconds until a rollout counts as failed."),
        replicas: int32("How many pods; 1 if absent."),
        revisionHistoryLimit: int32("How many old revisions are kept."),
        selector: selector("Which pods are its own. Cannot be changed."),
        strategy: {
          ...object("How pods are replaced.", {
            rollingUpdate: object("Details of RollingUpdate.", {
              maxSurge: intOrString("How many pods may be added."),
              maxUnavailable: intOrString("How many pods may be down at a time."),
            }),
            type: choice("One by one, or all at once.", "RollingUpdate", "Recreate"),
          }),
          "x-kubernetes-patch-strategy": "retainKeys",
        },
        template: template("The pods."),
      },
      ["selector", "template"],
    ),
    status: object("The pods as last seen.", {
      availableReplicas: int32("Pods ready for minReadySeconds."),
      collisionCount: int32("Collisions of revision names."),
      conditions: keyedList(
        condition({ lastUpdateTime: time("When it was last reported.") }),
        "type",
        "Available and Progressing.",
      ),
      observedGeneration: int64("The generation this was concluded from."),
      readyReplicas: int32("Ready pods."),
      replicas: int32("Pods there are."),
      terminatingReplicas: int32("Pods that are going."),
      unavailableReplicas: int32("Pods still missing."),
      updatedReplicas: int32("Pods of the newest template."),
    }),
  }),
  [`${APPS}.ReplicaSet`]: kind("A number of pods that are all alike.", {
    spec: object(
      "The pods and their number.",
      {
        minReadySeconds: int32("Seconds a pod must be ready before it counts as available."),
        replicas: int32("How many pods; 1 if absent."),
        selector: selector("Which pods are its own."),
        template: template("The pods."),
      },
      ["selector"],
    ),
    status: object("The pods as last seen.", {
      availableReplicas: int32("Pods ready for minReadySeconds."),
      conditions: keyedList(condition(), "type", "Conditions of the set."),
      fullyLabeledReplicas: int32("Pods with all of the template's labels."),
      observedGeneration: int64("The generation this was concluded from."),
      readyReplicas: int32("Ready pods."),
      replicas: int32("Pods there are."),
      terminatingReplicas: int32("Pods that are going."),
    }),
  }),
  [`${APPS}.ControllerRevision`]: kind(
    "A snapshot of a controller's state.",
    { data: open("The state."), revision: int64("The snapshot's number.") },
    ["revision"],
  ),
};

const EXTENSION_DEFINITIONS: Record<string, Schema> = {
  [`${EXTENSIONS}.CustomResourceDefinition`]: kind(
    "A kind of its own in the API.",
    {
      spec: object(
        "The kind.",
        {
          conversion: open("How versions are converted."),
          group: text("The API group."),
          names: ref(EXTENSIONS, "CustomResourceDefinitionNames", "The kind's names."),
          preserveUnknownFields: flag("Must be false."),
          scope: choice("Where objects live.", "Namespaced", "Cluster"),
          versions: list(ref(EXTENSIONS, "CustomResourceDefinitionVersion"), "The versions; exactly one is stored."),
        },
        ["group", "names", "scope", "versions"],
      ),
      status: object("The state as last seen.", {
        acceptedNames: ref(EXTENSIONS, "CustomResourceDefinitionNames", "The names in use."),
        conditions: list(
          condition({ observedGeneration: int64("The generation this was concluded from.") }),
          "Established and NamesAccepted.",
        ),
        observedGeneration: int64("The generation this was concluded from."),
        storedVersions: strings("Versions that objects were ever stored in."),
      }),
    },
    ["spec"],
  ),
  [`${EXTENSIONS}.CustomResourceDefinitionNames`]: object(
    "A kind's names.",
    {
      categories: strings("Groups such as all that the kind belongs to."),
      kind: text("The kind, CamelCase."),
      listKind: text("The kind of its lists."),
      plural: text("The name in paths, lower case."),
      shortNames: strings("Short names for kubectl."),
      singular: text("The name for one, lower case."),
    },
    ["plural", "kind"],
  ),
  [`${EXTENSIONS}.CustomResourceDefinitionVersion`]: object(
    "One version of the kind.",
    {
      additionalPrinterColumns: list(
        object(
          "One column.",
          {
            description: text("What it shows."),
            format: text("The value's format."),
            jsonPath: text("Where the value is."),
            name: text("The heading."),
            priority: int32("Above 0: only with -o wide."),
            type: choice("The value's type.", "string", "integer", "number", "boolean", "date"),
          },
          ["name", "type", "jsonPath"],
        ),
        "The columns of kubectl get.",
      ),
      deprecated: flag("True: a warning is sent."),
      deprecationWarning: text("The warning's text."),
      name: text("The version, such as v1alpha1."),
      schema: object("The version's schema.", { openAPIV3Schema: open("An OpenAPI v3 schema, structural.") }),
      selectableFields: list(open("jsonPath."), "Fields that field selectors know."),
      served: flag("Whether the version is served."),
      storage: flag("Whether objects are stored in this version."),
      subresources: object("The subresources.", {
        scale: object(
          "Enables kubectl scale.",
          {
            labelSelectorPath: text("Where the pods' selector is, as text."),
            specReplicasPath: text("Where the desired number is."),
            statusReplicasPath: text("Where the actual number is."),
          },
          ["specReplicasPath", "statusReplicasPath"],
        ),
        status: open("Present: status is written apart from the rest."),
      }),
    },
    ["name", "served", "storage"],
  ),
};

const ADMISSION_DEFINITIONS: Record<string, Schema> = {
  [`${ADMISSION}.ValidatingAdmissionPolicy`]: kind("Rules that requests must satisfy.", {
    spec: object("The rules.", {
      auditAnnotations: list(open("key, valueExpression."), "What goes into the audit log."),
      failurePolicy: choice("What a failing expression means.", "Fail", "Ignore"),
      matchConditions: keyedList(open("name, expression."), "name", "Further conditions for a request to be judged."),
      matchConstraints: ref(ADMISSION, "MatchResources", "Which requests are judged."),
      paramKind: object("The kind of the parameters.", {
        apiVersion: text("Its API version."),
        kind: text("Its kind."),
      }),
      validations: list(
        object(
          "One rule.",
          {
            expression: text("A CEL expression that must be true."),
            message: text("What the user is told."),
            messageExpression: text("A CEL expression for what the user is told."),
            reason: text("The reason of the refusal."),
          },
          ["expression"],
        ),
        "The rules.",
      ),
      variables: keyedList(open("name, expression."), "name", "Named parts of expressions."),
    }),
    status: open("The state as last seen."),
  }),
  [`${ADMISSION}.ValidatingAdmissionPolicyBinding`]: kind("Puts a policy into force.", {
    spec: object("What is put into force.", {
      matchResources: ref(ADMISSION, "MatchResources", "Which requests are judged."),
      paramRef: open("The parameters."),
      policyName: text("The policy's name."),
      validationActions: strings("What a violation does: Deny, Warn, Audit."),
    }),
  }),
  [`${ADMISSION}.MatchResources`]: object("Which requests.", {
    excludeResourceRules: list(ref(ADMISSION, "NamedRuleWithOperations"), "Requests left out."),
    matchPolicy: choice("Whether other versions match too.", "Exact", "Equivalent"),
    namespaceSelector: selector("Which namespaces."),
    objectSelector: selector("Which objects."),
    resourceRules: list(ref(ADMISSION, "NamedRuleWithOperations"), "Requests taken."),
  }),
  [`${ADMISSION}.NamedRuleWithOperations`]: object("One rule.", {
    apiGroups: strings("Groups, or *."),
    apiVersions: strings("Versions, or *."),
    operations: strings("CREATE, UPDATE, DELETE, CONNECT or *."),
    resourceNames: strings("Names; all if absent."),
    resources: strings("Resources, with /subresource, or *."),
    scope: choice("Which scope.", "Cluster", "Namespaced", "*"),
  }),
};

export const OTHER_DEFINITIONS: Record<string, Schema> = {
  ...APPS_DEFINITIONS,
  ...EXTENSION_DEFINITIONS,
  ...ADMISSION_DEFINITIONS,
  "io.k8s.api.coordination.v1.Lease": kind("Who holds what, and until when.", {
    spec: object("The lease.", {
      acquireTime: microTime("When it was taken."),
      holderIdentity: text("Who holds it."),
      leaseDurationSeconds: int32("Seconds after renewTime until it may be taken."),
      leaseTransitions: int32("How often it changed hands."),
      preferredHolder: text("Who should hold it."),
      renewTime: microTime("When it was last renewed."),
      strategy: text("How the holder is chosen."),
    }),
  }),
  "io.k8s.api.events.v1.Event": kind(
    "Something that happened to an object.",
    {
      action: text("What was done."),
      deprecatedCount: int32("How often it happened."),
      deprecatedFirstTimestamp: time("When it first happened."),
      deprecatedLastTimestamp: time("When it last happened."),
      deprecatedSource: open("Who reports it."),
      eventTime: microTime("When it first happened."),
      note: text("For people."),
      reason: text("For programs: why."),
      regarding: ref(CORE, "ObjectReference", "The object it happened to."),
      related: ref(CORE, "ObjectReference", "A second object."),
      reportingController: text("The controller that reports it."),
      reportingInstance: text("The controller's instance."),
      series: open("count and lastObservedTime, when it goes on."),
      type: choice("How bad it is.", "Normal", "Warning"),
    },
    ["eventTime"],
  ),
  "io.k8s.api.discovery.v1.EndpointSlice": kind(
    "A part of the addresses behind a service.",
    {
      addressType: choice("The addresses' family.", "IPv4", "IPv6", "FQDN"),
      endpoints: list(open("addresses, conditions, hostname, targetRef."), "The addresses."),
      ports: list(open("name, port, protocol."), "The ports."),
    },
    ["addressType"],
  ),
  "io.k8s.api.policy.v1.PodDisruptionBudget": kind("How many pods may be down by intent.", {
    spec: object("The budget.", {
      maxUnavailable: intOrString("How many may be down."),
      minAvailable: intOrString("How many must be up."),
      selector: selector("Which pods."),
      unhealthyPodEvictionPolicy: choice("Whether unhealthy pods may go.", "IfHealthyBudget", "AlwaysAllow"),
    }),
    status: open("The state as last seen."),
  }),
  "io.k8s.api.autoscaling.v1.Scale": kind("How many there are and shall be.", {
    spec: object("The desired number.", { replicas: int32("How many.") }),
    status: object(
      "The number as last seen.",
      { replicas: int32("How many."), selector: text("Which pods, as text.") },
      ["replicas"],
    ),
  }),
};
