/**
 * OCM's executor: an account in the cluster whose rights the agent asks for before it applies anything. `lockstep install
 * --executor` carries the account to each cluster with a ManifestWork, whose annotation says which account it is; from
 * then on everything that is dispatched there names it.
 */
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";

export interface Executor {
  readonly namespace: string;
  readonly name: string;
}

/** The ManifestWork in each cluster's namespace that carries the account and its rights. */
export const EXECUTOR_WORK = "lockstep-executor";
/** Annotation on it: `NAMESPACE/NAME` of the account. */
export const EXECUTOR_ANNOTATION = "lockstep.karmada.io/executor";

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Undefined for text that names no account. */
export function readExecutor(text: string | undefined): Executor | undefined {
  const [namespace = "", name = "", ...rest] = (text ?? "").split("/");
  return rest.length === 0 && NAME.test(namespace) && NAME.test(name) ? { namespace, name } : undefined;
}

/** The account of a cluster, from the ManifestWork that carries it. */
export function executorOf(work: KubeObject | undefined): Executor | undefined {
  if (work?.metadata.deletionTimestamp !== undefined) return undefined;
  return readExecutor(work?.metadata.annotations?.[EXECUTOR_ANNOTATION]);
}

/** `spec.executor` of a ManifestWork. */
export function executorSpec({ namespace, name }: Executor): JsonObject {
  return { subject: { type: "ServiceAccount", serviceAccount: { namespace, name } } };
}

/** The account that a ManifestWork names. */
export function executorIn({ spec }: KubeObject): Executor | undefined {
  const subject = isJsonObject(spec) && isJsonObject(spec.executor) ? spec.executor.subject : undefined;
  const account = isJsonObject(subject) && isJsonObject(subject.serviceAccount) ? subject.serviceAccount : {};
  return readExecutor(`${account.namespace ?? ""}/${account.name ?? ""}`);
}

/** How an agent begins its refusal for the account's lack of rights. */
const REFUSAL = "not allowed to apply the resource";

/** The agent's message, with what to do about a right that the account lacks. */
export function withRemedy(message: string, executor: Executor | undefined): string {
  if (!executor || !message.includes(REFUSAL)) return message;
  const { namespace, name } = executor;
  return `${message}: service account ${namespace}/${name} lacks get, create, update, patch or delete there. Grant them to it, or run 'lockstep install --apply --executor ${namespace}/${name}' again with the same options; the agent retries after a minute`;
}
