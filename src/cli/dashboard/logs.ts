/** Pods and their logs in a member, read with the viewer's own rights. */
import { parseCrossClusterStatefulset } from "../../api/index.ts";
import { resource } from "../../kube/index.ts";
import type { AppAddress, LogsOf, PodsOf } from "../../web/index.ts";
import { CommandError } from "../errors.ts";
import { engineOf } from "../hub/engine.ts";
import { getStatefulset, withHub } from "../hub/hub.ts";
import { withMember } from "../hub/members.ts";
import { type PodReports, podReports } from "../hub/pod-reports.ts";
import { statusOf } from "../hub/status.ts";
import type { Io } from "../terminal/io.ts";

const PODS = resource({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true });
const JOB_NAME_LABEL = "batch.kubernetes.io/job-name";
const TAIL_LINES = 300;
const LOG_BYTES = 256 * 1024;
const TIMEOUT_MS = 10_000;
const MAX_PODS = 100;

export function podLog(io: Io, { namespace, cluster, pod }: LogsOf): Promise<string> {
  return withHub(io, { namespace }, async (hub) =>
    withMember(hub, await engineOf(hub), cluster, async ({ transport, basePath }) => {
      const done = new AbortController();
      const cancel = hub.clock.after(TIMEOUT_MS, () => done.abort(new Error(`no answer within ${TIMEOUT_MS} ms`)));
      const at = `namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`;
      const path = `${basePath}/api/v1/${at}/log?tailLines=${TAIL_LINES}&limitBytes=${LOG_BYTES}`;
      const answer = await transport.request({ method: "GET", path, headers: {}, signal: done.signal }).finally(cancel);
      if (answer.status === 200) return plain(answer.body);
      throw new CommandError(
        `the log of ${pod} in ${cluster} cannot be read: ${messageOf(answer.body, answer.status)}`,
      );
    }),
  );
}

export function podsOfJob(io: Io, { namespace, cluster, job }: PodsOf): Promise<readonly string[]> {
  return withHub(io, { namespace }, async (hub) =>
    withMember(hub, await engineOf(hub), cluster, async ({ client }) => {
      const selection = { namespace, labelSelector: `${JOB_NAME_LABEL}=${job}` };
      const { items } = await client.listAll(PODS, { ...selection, ...hub.request });
      return items.map(({ metadata }) => metadata.name).slice(0, MAX_PODS);
    }),
  );
}

/** The same as `lockstep why` prints: the awaited cluster's pods first. */
export function reportsOf(io: Io, { namespace, name }: AppAddress): Promise<PodReports> {
  return withHub(io, { namespace }, async (hub) => {
    const object = await getStatefulset(hub, name);
    const parsed = parseCrossClusterStatefulset(object);
    const status = statusOf(object);
    const at = (parsed.ok ? parsed.value.spec.resourceSelector.namespace : undefined) ?? namespace;
    return podReports(hub, { namespace: at, status, first: status.step?.cluster, withLogs: true });
  });
}

/** What Kubernetes says of a refusal; a proxy on the way may answer in another form. */
function messageOf(body: string, status: number): string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === "object" && parsed !== null && "message" in parsed) return String(parsed.message);
  } catch {
    // Not JSON: the status has to do.
  }
  return `the answer was ${status}`;
}

/** Programs may write anything: only line ends and tabs stay. */
function plain(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]|\p{Cf}/gu, " ");
}
