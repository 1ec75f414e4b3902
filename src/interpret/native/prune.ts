/** Pruning: removes what the hub's API server and controllers add to the object and a member cluster must not get. */
import type { JsonObject } from "../../runtime/index.ts";
import { booleanAt, gvkOf, objectsAt, textAt, withoutValue, withValue } from "../fields.ts";
import type { Handler } from "../operations.ts";

const POPULATED: readonly (readonly string[])[] = [
  ["metadata", "creationTimestamp"],
  ["metadata", "deletionTimestamp"],
  ["metadata", "deletionGracePeriodSeconds"],
  ["metadata", "generation"],
  ["metadata", "managedFields"],
  ["metadata", "resourceVersion"],
  ["metadata", "selfLink"],
  ["metadata", "uid"],
  // Owners exist only on the hub: in a member, garbage collection would delete the object.
  ["metadata", "ownerReferences"],
  ["metadata", "finalizers"],
  ["status"],
];

const BY_KIND: Readonly<Record<string, (object: JsonObject) => JsonObject>> = {
  "apps/Deployment": (object) =>
    without(
      object,
      ["metadata", "annotations", "deployment.kubernetes.io/revision"],
      ["metadata", "annotations", "deployment.kubernetes.io/revision-history"],
    ),
  "batch/Job": pruneJob,
  "/Secret": pruneSecret,
  "/ServiceAccount": pruneServiceAccount,
  "/Service": pruneService,
  "/PersistentVolumeClaim": (object) =>
    without(object, ["metadata", "annotations", "volume.kubernetes.io/selected-node"]),
};

export const prune: Handler<"Prune"> = ({ object }) => {
  return pruned(object);
};

function pruned(object: JsonObject): JsonObject {
  const { group, kind } = gvkOf(object);
  const populated = without(object, ...POPULATED);
  return BY_KIND[`${group}/${kind}`]?.(populated) ?? populated;
}

/** As Karmada's webhook writes every manifest of a Work: pruned by its own code only, and without a Job's TTL. */
export function prunedForWork(manifest: JsonObject): JsonObject {
  const { kind } = gvkOf(manifest);
  return kind === "Job" ? without(pruned(manifest), ["spec", "ttlSecondsAfterFinished"]) : pruned(manifest);
}

function without(object: JsonObject, ...paths: readonly (readonly string[])[]): JsonObject {
  return paths.reduce(withoutValue, object);
}

/** The selector of a Job is generated from its uid, unless the user manages it. */
function pruneJob(job: JsonObject): JsonObject {
  if (booleanAt(job, "spec", "manualSelector") === true) return job;
  const generated = [
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
    "job-name",
    "batch.kubernetes.io/job-name",
  ];
  return without(
    job,
    ...generated.slice(0, 2).map((label) => ["spec", "selector", "matchLabels", label]),
    ...generated.map((label) => ["spec", "template", "metadata", "labels", label]),
  );
}

function pruneSecret(secret: JsonObject): JsonObject {
  if (textAt(secret, "type") !== "kubernetes.io/service-account-token") return secret;
  return without(secret, ["metadata", "annotations", "kubernetes.io/service-account.uid"], ["data"]);
}

/** Tokens generated for the account on the hub: `<name>-token-...`. */
function pruneServiceAccount(account: JsonObject): JsonObject {
  const secrets = objectsAt(account, "secrets");
  const prefix = `${textAt(account, "metadata", "name") ?? ""}-token-`;
  const kept = secrets.filter(({ name }) => typeof name !== "string" || !name.startsWith(prefix));
  return kept.length === secrets.length ? account : withValue(account, ["secrets"], kept);
}

/** `None` means that the user wants a headless Service; any other address is the hub's. */
function pruneService(service: JsonObject): JsonObject {
  const clusterIP = textAt(service, "spec", "clusterIP");
  if (clusterIP === undefined || clusterIP === "None") return service;
  return without(service, ["spec", "clusterIP"], ["spec", "clusterIPs"]);
}
