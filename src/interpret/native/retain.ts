/** Fields that a member cluster sets by itself and that an update from the hub must keep. */
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { integerAt, objectsAt, presentAt, textAt, textMapAt, withoutValue, withValue, wrongType } from "../fields.ts";
import type { Handler } from "../operations.ts";

type Retain = Handler<"Retain">;

/** Marks a Deployment whose replicas an autoscaler in the member cluster controls. */
const RETAIN_REPLICAS_LABEL = "resourcetemplate.karmada.io/retain-replicas";

export const retainDeployment: Retain = ({ object, observed }) => {
  if (textMapAt(object, "metadata", "labels")?.[RETAIN_REPLICAS_LABEL] !== "true") return object;
  const replicas = integerAt(observed, "spec", "replicas");
  if (replicas === undefined) throw wrongType("spec.replicas", "a whole number in the observed object", undefined);
  return withValue(object, ["spec", "replicas"], replicas);
};

/** A pod's node, identity and volumes are immutable, and admission in the member fills them in. */
export const retainPod: Retain = ({ object, observed }) => {
  let retained = object;
  for (const field of ["nodeName", "serviceAccountName", "volumes"]) {
    const value = presentAt(observed, "spec", field);
    retained =
      value === undefined ? withoutValue(retained, ["spec", field]) : withValue(retained, ["spec", field], value);
  }
  retained = retainMounts(retained, observed, "containers");
  return retainMounts(retained, observed, "initContainers");
};

function retainMounts(desired: JsonObject, observed: JsonObject, list: "containers" | "initContainers"): JsonObject {
  const containers = objectsAt(desired, "spec", list);
  const running = new Map(objectsAt(observed, "spec", list).map((container) => [container.name, container]));
  if (!containers.some(({ name }) => running.has(name))) return desired;
  const retained = containers.map((container) => {
    const twin = running.get(container.name);
    if (twin === undefined) return container;
    const mounts = presentAt(twin, "volumeMounts");
    return mounts === undefined
      ? withoutValue(container, ["volumeMounts"])
      : withValue(container, ["volumeMounts"], mounts);
  });
  return withValue(desired, ["spec", list], retained);
}

/** Addresses and ports that the member's API server allocates and then refuses to change. */
export const retainService: Retain = ({ object, observed }) => {
  let retained = object;
  const port = integerAt(observed, "spec", "healthCheckNodePort");
  if (port !== undefined && port > 0) retained = withValue(retained, ["spec", "healthCheckNodePort"], port);
  const clusterIP = textAt(observed, "spec", "clusterIP");
  if (clusterIP) retained = withValue(retained, ["spec", "clusterIP"], clusterIP);
  return retained;
};

/** Both sides' secrets: if a generated one were dropped, the member would generate another, again and again. */
export const retainServiceAccount: Retain = ({ object, observed }) => {
  let retained = object;
  for (const field of ["secrets", "imagePullSecrets"]) {
    const desired = objectsAt(object, field);
    const names = new Set(desired.map(({ name }) => name));
    const generated = objectsAt(observed, field).filter(({ name }) => !names.has(name));
    if (generated.length > 0) retained = withValue(retained, [field], [...desired, ...generated]);
  }
  return retained;
};

export const retainClaim: Retain = ({ object, observed }) => {
  const volume = textAt(observed, "spec", "volumeName");
  return volume ? withValue(object, ["spec", "volumeName"], volume) : object;
};

export const retainVolume: Retain = ({ object, observed }) => {
  const claim = presentAt(observed, "spec", "claimRef");
  return isJsonObject(claim) ? withValue(object, ["spec", "claimRef"], claim) : object;
};

/** The selector and labels that the member's Job controller generated with the member's own uid. */
export const retainJob: Retain = ({ object, observed }) => {
  let retained = object;
  for (const path of [
    ["spec", "selector", "matchLabels"],
    ["spec", "template", "metadata", "labels"],
  ]) {
    const labels = textMapAt(observed, ...path);
    if (labels !== undefined) retained = withValue(retained, path, labels);
  }
  return retained;
};

/** A service account token's data is generated in the member. */
export const retainSecret: Retain = ({ object, observed }) => {
  if (textAt(object, "type") !== "kubernetes.io/service-account-token") return object;
  const data = textMapAt(observed, "data");
  return data === undefined ? object : withValue(object, ["data"], data);
};
