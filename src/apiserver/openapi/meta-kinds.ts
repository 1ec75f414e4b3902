import {
  choice,
  flag,
  int64,
  keyedList,
  list,
  META,
  map,
  object,
  open,
  ref,
  type Schema,
  setList,
  text,
  time,
} from "./fields.ts";

/** In these lists, the key of strategic merge is `uid`. */
export const META_DEFINITIONS: Record<string, Schema> = {
  [`${META}.ObjectMeta`]: object("What every object has: its name, its labels, its owners.", {
    annotations: map({ type: "string" }, "Free text by key, for tools and users; not for selecting."),
    creationTimestamp: time("When the server created the object. Set by the server."),
    deletionGracePeriodSeconds: int64(
      "Seconds granted to shut down, once the object is being deleted. Set by the server.",
    ),
    deletionTimestamp: time(
      "When deletion was requested; the object is removed once no finalizer is left. Set by the server.",
    ),
    finalizers: setList({ type: "string" }, "Finalizers: each must be removed before the object is removed."),
    generateName: text("A prefix the server completes to a unique name, when no name is given."),
    generation: int64("Counts the changes of the desired state. Set by the server."),
    labels: map({ type: "string" }, "Keys and values that selectors match."),
    managedFields: list(
      ref(META, "ManagedFieldsEntry"),
      "Which manager owns which fields, for server-side apply. Kept by the server.",
    ),
    name: text("The name, unique among its kind in a namespace. Cannot be changed."),
    namespace: text("The object's namespace; empty for cluster-scoped kinds. Cannot be changed."),
    ownerReferences: keyedList(
      ref(META, "OwnerReference"),
      "uid",
      "The objects that this one depends on; when all of them are gone, it is garbage collected.",
    ),
    resourceVersion: text("Opaque version of the object; sent back with an update it guards against lost writes."),
    selfLink: text("No longer filled in."),
    uid: text("Unique over time and space. Set by the server."),
  }),
  [`${META}.OwnerReference`]: object(
    "An owner in the same namespace, or one that spans the cluster.",
    {
      apiVersion: text("The owner's API version."),
      blockOwnerDeletion: flag("Whether a foreground deletion of the owner waits for this object."),
      controller: flag("Whether the owner is the one controller of this object."),
      kind: text("The owner's kind."),
      name: text("The owner's name."),
      uid: text("The owner's uid."),
    },
    ["apiVersion", "kind", "name", "uid"],
  ),
  [`${META}.ManagedFieldsEntry`]: object("The fields one manager owns through one kind of operation.", {
    apiVersion: text("The version the field set is written in."),
    fieldsType: text("The format of the field set: FieldsV1."),
    fieldsV1: open("The field set."),
    manager: text("The manager's name."),
    operation: choice("The operation: Apply or Update.", "Apply", "Update"),
    subresource: text("The subresource that was written, if any."),
    time: time("When the manager last changed its fields."),
  }),
  [`${META}.ListMeta`]: object("What every list has.", {
    continue: text("Token for the next page; empty on the last one."),
    remainingItemCount: int64("How many more objects there are, if known."),
    resourceVersion: text("The version to watch from."),
    selfLink: text("No longer filled in."),
  }),
  [`${META}.LabelSelector`]: object("Selects objects by their labels; all requirements must hold.", {
    matchExpressions: list(ref(META, "LabelSelectorRequirement"), "Requirements with operators."),
    matchLabels: map({ type: "string" }, "Labels that must have exactly these values."),
  }),
  [`${META}.LabelSelectorRequirement`]: object(
    "One requirement on one label.",
    {
      key: text("The label's key."),
      operator: choice("How key and values relate.", "In", "NotIn", "Exists", "DoesNotExist"),
      values: list({ type: "string" }, "The values, for In and NotIn."),
    },
    ["key", "operator"],
  ),
  [`${META}.Condition`]: object(
    "One aspect of an object's state.",
    {
      lastTransitionTime: time("When the status last changed."),
      message: text("For people."),
      observedGeneration: int64("The generation this was concluded from."),
      reason: text("For programs: one CamelCase word."),
      status: choice("Whether the condition holds.", "True", "False", "Unknown"),
      type: text("The condition's name."),
    },
    ["type", "status", "lastTransitionTime", "reason", "message"],
  ),
  [`${META}.DeleteOptions`]: object("How to delete.", {
    apiVersion: text("The version of this object."),
    dryRun: list({ type: "string" }, '"All": nothing is stored.'),
    gracePeriodSeconds: int64("Seconds to shut down; 0 deletes at once."),
    kind: text("DeleteOptions."),
    orphanDependents: flag("Old form of propagationPolicy."),
    preconditions: open("A uid or resourceVersion that must match."),
    propagationPolicy: choice("What happens to the dependents.", "Orphan", "Background", "Foreground"),
  }),
  [`${META}.Status`]: open("The outcome of a request that gives no object."),
};

/** A kind's parts that every object has, before its own. */
export function kind(description: string, own: Record<string, Schema>, required: readonly string[] = []): Schema {
  return object(
    description,
    {
      apiVersion: text("The group and version of this object, such as apps/v1."),
      kind: text("The kind of this object."),
      metadata: ref(META, "ObjectMeta", "The object's name, labels and other data every object has."),
      ...own,
    },
    required,
  );
}
