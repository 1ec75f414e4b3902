/**
 * The pods that are not ready, with their own messages and the end of their logs. Read with the user's rights, on Karmada
 * through the hub's cluster proxy, and stored nowhere.
 */
import { type PodTrouble, podTrouble } from "../../controllers/index.ts";
import { ForbiddenError, type KubeObject, resource } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import { explain } from "../errors.ts";
import { engineOf } from "./engine.ts";
import type { Hub } from "./hub.ts";
import { type ReachedMember, withMember } from "./members.ts";
import { isOwnedBy, type PodPlace } from "./pod-places.ts";

export interface PodReport {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
  readonly message?: string;
  readonly last?: PodTrouble["last"];
  /** The last lines that it has written. */
  readonly log: readonly string[];
}

export interface PodReports {
  readonly pods: readonly PodReport[];
  /** What could not be read, and why. */
  readonly notes: readonly string[];
}

export interface PodQuestion {
  /** Read in this order. */
  readonly places: readonly PodPlace[];
  readonly withLogs: boolean;
}

const PODS = resource({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true });
/** A user reads no more at once; the remedy names the command for the rest. */
const MAX_PODS = 3;
const LOG_LINES = 10;
const LOG_BYTES = 8_192;
const LINE_CHARS = 300;
/** A member that does not answer must not delay the output. */
const TIMEOUT_MS = 5_000;

export async function podReports(hub: Hub, { places, withLogs }: PodQuestion): Promise<PodReports> {
  const pods: PodReport[] = [];
  const notes: string[] = [];
  if (places.length === 0) return { pods, notes };
  const engine = await engineOf(hub);
  for (const place of places) {
    const { cluster } = place;
    try {
      await withMember(hub, engine, cluster, async (member) => {
        for (const pod of await podsAt(hub, member, place)) {
          if (pods.length < MAX_PODS) pods.push(await reportOf(hub, member, cluster, pod, withLogs, notes));
        }
      });
    } catch (error) {
      const right = error instanceof ForbiddenError ? " (you may not read them)" : "";
      notes.push(`the pods in ${cluster} cannot be read${right}: ${oneLine(explain(error))}`);
    }
  }
  return { pods, notes };
}

async function podsAt(
  hub: Hub,
  { client: member }: ReachedMember,
  { namespace, pods }: PodPlace,
): Promise<KubeObject[]> {
  const request = { ...hub.request, timeoutMs: TIMEOUT_MS, maxAttempts: 1 };
  const read = async (): Promise<readonly (KubeObject | undefined)[]> => {
    switch (pods.by) {
      case "names":
        return Promise.all(
          pods.names.slice(0, MAX_PODS).map((name) => member.find(PODS, { namespace, name }, request)),
        );
      case "selector":
        return (await member.listAll(PODS, { namespace, labelSelector: pods.selector, ...request })).items;
      case "owners": {
        const { items } = await member.listAll(PODS, { namespace, ...request });
        return items.filter((pod) => pods.owners.some((owner) => isOwnedBy(pod, owner)));
      }
    }
  };
  return (await read()).filter((pod) => pod !== undefined).filter((pod) => !isReady(pod) && !hasSucceeded(pod));
}

async function reportOf(
  hub: Hub,
  member: ReachedMember,
  cluster: string,
  pod: KubeObject,
  withLogs: boolean,
  notes: string[],
): Promise<PodReport> {
  const { name, namespace = "", deletionTimestamp } = pod.metadata;
  const trouble = podTrouble(pod);
  const reason = deletionTimestamp === undefined ? (trouble?.reason ?? "NotReady") : "Terminating";
  const message = trouble?.message ?? notReadyMessage(pod);
  const log = withLogs ? await logOf(hub, member, cluster, pod, trouble, notes) : [];
  return {
    cluster,
    namespace,
    name,
    reason,
    ...(message !== undefined && { message: oneLine(message) }),
    ...(trouble?.last && { last: trouble.last }),
    log,
  };
}

/** For a container that does not run: the output of the previous one. */
async function logOf(
  hub: Hub,
  { transport, basePath }: ReachedMember,
  cluster: string,
  { metadata }: KubeObject,
  trouble: PodTrouble | undefined,
  notes: string[],
): Promise<string[]> {
  const query = new URLSearchParams({ tailLines: String(LOG_LINES), limitBytes: String(LOG_BYTES) });
  if (trouble?.container !== undefined) query.set("container", trouble.container);
  const pod = `/api/v1/namespaces/${encodeURIComponent(metadata.namespace ?? "")}/pods/${encodeURIComponent(metadata.name)}`;
  const done = new AbortController();
  const cancel = hub.clock.after(TIMEOUT_MS, () => done.abort(new Error(`no answer within ${TIMEOUT_MS} ms`)));
  try {
    for (const previous of trouble?.last === undefined ? [false] : [true, false]) {
      if (previous) query.set("previous", "true");
      else query.delete("previous");
      const path = `${basePath}${pod}/log?${query}`;
      const { status, body } = await transport.request({ method: "GET", path, headers: {}, signal: done.signal });
      if (status === 200) return linesOf(body);
      if (status === 403) {
        notes.push(`the log of ${metadata.name} in ${cluster} is not shown: you may not read pods/log there`);
        return [];
      }
    }
  } catch (error) {
    notes.push(`the log of ${metadata.name} in ${cluster} cannot be read: ${oneLine(explain(error))}`);
  } finally {
    cancel();
  }
  return [];
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-LOG_LINES)
    .map(oneLine);
}

/** Applications may write anything: it must not control the terminal, or flood it. */
function oneLine(text: string): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, " ").trim();
  return plain.length <= LINE_CHARS ? plain : `${plain.slice(0, LINE_CHARS - 3)}...`;
}

function isReady(pod: KubeObject): boolean {
  return pod.metadata.deletionTimestamp === undefined && readyCondition(pod)?.status === "True";
}

/** Its work is done: it is not to be ready any more. */
function hasSucceeded({ status }: KubeObject): boolean {
  return isJsonObject(status) && status.phase === "Succeeded";
}

function notReadyMessage(pod: KubeObject): string | undefined {
  const message = readyCondition(pod)?.message;
  return typeof message === "string" && message !== "" ? message : undefined;
}

function readyCondition({ status }: KubeObject) {
  const conditions = isJsonObject(status) && Array.isArray(status.conditions) ? status.conditions : [];
  return conditions.filter(isJsonObject).find(({ type }) => type === "Ready");
}
