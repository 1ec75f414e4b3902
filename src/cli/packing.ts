/** An object as the controller takes it into a revision, so that a preview comes to the same name. */
import type { Interpreter } from "../interpret/index.ts";
import { isKubeObject, type KubeObject } from "../kube/index.ts";
import type { ReplicaSource } from "../render/index.ts";
import type { JsonObject } from "../runtime/index.ts";

/** Without what belongs to the cluster that it was read from. */
export async function packed(interpreter: Interpreter, object: KubeObject): Promise<KubeObject> {
  const pruned = await interpreter.interpretNow("Prune", { object });
  return pruned.state === "known" && isKubeObject(pruned.value) ? pruned.value : object;
}

/** The count is taken out of the object, and put into it, by whoever knows where it is. */
export async function replicaSource(
  interpreter: Interpreter,
  template: JsonObject | KubeObject,
  replicas: number,
): Promise<ReplicaSource> {
  const apiVersion = String(template.apiVersion);
  if (apiVersion === "apps/v1" || apiVersion === "batch/v1") return { kind: "native" };
  const revised = await interpreter.interpretNow("ReviseReplica", { object: template, replicas });
  const taught = revised.state === "known" && revised.layer !== "native";
  return taught ? { kind: "revised", object: revised.value } : { kind: "native" };
}
