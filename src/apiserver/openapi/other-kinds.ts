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
  map,
  microTime,
  object,
  open,
  quantities,
  ref,
  type Schema,
  text,
  time,
} from "./fields.ts";
import { kind } from "./meta-kinds.ts";

const EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
const ADMISSION = "io.k8s.api.admissionregistration.v1";
const RBAC = "io.k8s.api.rbac.v1";

const strings = (description: string) => list({ type: "string" }, description);
const selector = (description: string) => ref(META, "LabelSelector", description);

const EXTENSION_DEFINITIONS: Record<string, Schema> = {
  [`${EXTENSIONS}.CustomResourceDefinition`]: kind(
    "A custom kind in the API.",
    {
      spec: object(
        "The kind.",
        {
          conversion: open("How versions are converted."),
          group: text("The API group."),
          names: ref(EXTENSIONS, "CustomResourceDefinitionNames", "The kind's names."),
          preserveUnknownFields: flag("Must be false."),
          scope: choice("Namespaced or Cluster.", "Namespaced", "Cluster"),
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
      auditAnnotations: list(open("key, valueExpression."), "What is written to the audit log."),
      failurePolicy: choice("What happens if an expression fails.", "Fail", "Ignore"),
      matchConditions: keyedList(open("name, expression."), "name", "Further conditions for the policy to apply."),
      matchConstraints: ref(ADMISSION, "MatchResources", "Which requests the policy applies to."),
      paramKind: object("The kind of the parameters.", {
        apiVersion: text("Its API version."),
        kind: text("Its kind."),
      }),
      validations: list(
        object(
          "One rule.",
          {
            expression: text("A CEL expression that must be true."),
            message: text("The message for the user."),
            messageExpression: text("A CEL expression for the message for the user."),
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
  [`${ADMISSION}.ValidatingAdmissionPolicyBinding`]: kind("Enforces a policy.", {
    spec: object("What is enforced.", {
      matchResources: ref(ADMISSION, "MatchResources", "Which requests the policy applies to."),
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

const RBAC_DEFINITIONS: Record<string, Schema> = {
  [`${RBAC}.Role`]: kind("What may be done in a namespace.", {
    rules: list(ref(RBAC, "PolicyRule"), "What may be done."),
  }),
  [`${RBAC}.ClusterRole`]: kind("What may be done in the cluster.", {
    aggregationRule: open("Which roles are aggregated into this one."),
    rules: list(ref(RBAC, "PolicyRule"), "What may be done."),
  }),
  [`${RBAC}.RoleBinding`]: kind("Who has a role in a namespace.", binding(), ["roleRef"]),
  [`${RBAC}.ClusterRoleBinding`]: kind("Who has a role in the cluster.", binding(), ["roleRef"]),
  [`${RBAC}.PolicyRule`]: object(
    "One permission.",
    {
      apiGroups: strings("Groups, or *."),
      nonResourceURLs: strings("Paths that are not objects."),
      resourceNames: strings("Names; all if absent."),
      resources: strings("Resources, with /subresource, or *."),
      verbs: strings("Verbs, or *."),
    },
    ["verbs"],
  ),
};

function binding(): Record<string, Schema> {
  return {
    roleRef: object(
      "The role. Cannot be changed.",
      { apiGroup: text("The role's group."), kind: text("Role or ClusterRole."), name: text("The role's name.") },
      ["kind", "name"],
    ),
    subjects: list(
      object(
        "One subject.",
        {
          apiGroup: text("The subject's group."),
          kind: choice("What it is.", "User", "Group", "ServiceAccount"),
          name: text("Its name."),
          namespace: text("A service account's namespace."),
        },
        ["kind", "name"],
      ),
      "Who has the role.",
    ),
  };
}

export const OTHER_DEFINITIONS: Record<string, Schema> = {
  ...EXTENSION_DEFINITIONS,
  ...ADMISSION_DEFINITIONS,
  ...RBAC_DEFINITIONS,
  "io.k8s.api.authentication.v1.SelfSubjectReview": kind("The caller's identity, as the server sees it.", {
    status: open("The caller's userInfo; the server fills it in."),
  }),
  "io.k8s.api.authorization.v1.SubjectAccessReview": kind("Whether a user may do something.", {
    spec: open("Who, and what."),
    status: open("Whether it is allowed; the server fills it in."),
  }),
  "io.k8s.api.authorization.v1.SelfSubjectAccessReview": kind("Whether the caller may do something.", {
    spec: open("What: resourceAttributes, or nonResourceAttributes."),
    status: open("The answer; the server fills it in."),
  }),
  "io.k8s.api.coordination.v1.Lease": kind("A lease: its holder, and until when.", {
    spec: object("The lease.", {
      acquireTime: microTime("When it was acquired."),
      holderIdentity: text("The holder."),
      leaseDurationSeconds: int32("Seconds after renewTime until it may be taken."),
      leaseTransitions: int32("How often it changed hands."),
      preferredHolder: text("The preferred holder."),
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
      deprecatedSource: open("The reporting component."),
      eventTime: microTime("When it first happened."),
      note: text("For people."),
      reason: text("For programs: why."),
      regarding: ref(CORE, "ObjectReference", "The object it happened to."),
      related: ref(CORE, "ObjectReference", "A second object."),
      reportingController: text("The controller that reports it."),
      reportingInstance: text("The controller's instance."),
      series: open("count and lastObservedTime, for repeated events."),
      type: choice("Normal or Warning.", "Normal", "Warning"),
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
  "io.k8s.api.policy.v1.PodDisruptionBudget": kind("How many pods may be down voluntarily.", {
    spec: object("The budget.", {
      maxUnavailable: intOrString("How many may be down."),
      minAvailable: intOrString("How many must be up."),
      selector: selector("Which pods."),
      unhealthyPodEvictionPolicy: choice("Whether unhealthy pods may be evicted.", "IfHealthyBudget", "AlwaysAllow"),
    }),
    status: open("The state as last seen."),
  }),
  "io.k8s.api.storage.v1.StorageClass": kind(
    "A class of volumes.",
    {
      allowVolumeExpansion: flag("Whether volumes may grow."),
      allowedTopologies: list(open("matchLabelExpressions."), "Where volumes may be."),
      mountOptions: strings("Options for mounting."),
      parameters: map({ type: "string" }, "Settings for the provisioner."),
      provisioner: text("The provisioner of the volumes."),
      reclaimPolicy: choice("What happens to a released volume.", "Delete", "Retain"),
      volumeBindingMode: choice("When a claim is bound.", "Immediate", "WaitForFirstConsumer"),
    },
    ["provisioner"],
  ),
  [`${CORE}.ResourceQuota`]: kind("How much a namespace may use.", {
    spec: object("The limits.", {
      hard: quantities("The most, by resource."),
      scopeSelector: open("Which objects count."),
      scopes: strings("Which objects count, by name."),
    }),
    status: object("The use as last seen.", { hard: quantities("The most."), used: quantities("What is used.") }),
  }),
  "io.k8s.api.autoscaling.v1.Scale": kind("The actual and the desired number.", {
    spec: object("The desired number.", { replicas: int32("How many.") }),
    status: object(
      "The number as last seen.",
      { replicas: int32("How many."), selector: text("Which pods, as text.") },
      ["replicas"],
    ),
  }),
};
