/** Pods and their logs in a member, read with the viewer's own rights. */
import { parseCrossClusterStatefulset } from "../../api/index.ts";
import { type KubeObject, resource } from "../../kube/index.ts";
import type { ApplicationName, LogsOf, PodsOf } from "../../web/index.ts";
import { getApplication } from "../applications/kind.ts";
import { CommandError } from "../errors.ts";
import { engineOf } from "../hub/engine.ts";
import { getStatefulset, type Hub, withHub } from "../hub/hub.ts";
import { getJob } from "../hub/job.ts";
import { withMember } from "../hub/members.ts";
import {
  isOwnedBy,
  type PodPlace,
  placesOfApplication,
  placesOfJob,
  placesOfStatefulset,
  podLabelOf,
} from "../hub/pod-places.ts";
import { type PodReports, podReports } from "../hub/pod-reports.ts";
import { statusOf } from "../hub/status.ts";
import type { Io } from "../terminal/io.ts";
import { distributionStatus } from "./distribution.ts";
import { jobStatus } from "./job.ts";

const PODS = resource({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true });
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

/** Of a CrossClusterJob's work by a label; of an application's workload, which may have any labels, by its owner. */
export function podsOf(io: Io, { namespace, cluster, kind, group, name }: PodsOf): Promise<readonly string[]> {
  return withHub(io, { namespace }, async (hub) =>
    withMember(hub, await engineOf(hub), cluster, async ({ client }) => {
      const labelSelector = group === undefined ? undefined : `${podLabelOf({ group, kind })}=${name}`;
      const selection = { namespace, ...(labelSelector !== undefined && { labelSelector }) };
      const { items } = await client.listAll(PODS, { ...selection, ...hub.request });
      const own = group === undefined ? items.filter((pod) => isOwnedBy(pod, { kind, name })) : items;
      return own.map(({ metadata }) => metadata.name).slice(0, MAX_PODS);
    }),
  );
}

/** The pods that are not ready: of a CrossClusterStatefulset the same as `lockstep why` prints. */
export function reportsOf(io: Io, { type, namespace, name }: ApplicationName): Promise<PodReports> {
  return withHub(io, { namespace }, async (hub) => {
    const places = await PLACES[type](hub, name);
    return podReports(hub, { places, withLogs: true });
  });
}

const PLACES: Readonly<Record<ApplicationName["type"], (hub: Hub, name: string) => Promise<readonly PodPlace[]>>> = {
  ccs: async (hub, name) => statefulsetPlaces(await getStatefulset(hub, name)),
  dapp: async (hub, name) => placesOfApplication(distributionStatus(await getApplication(hub, name))),
  ccj: async (hub, name) => {
    const object = await getJob(hub, name);
    return placesOfJob(object, jobStatus(object));
  },
};

/** The awaited cluster's pods first. */
function statefulsetPlaces(object: KubeObject): readonly PodPlace[] {
  const parsed = parseCrossClusterStatefulset(object);
  const status = statusOf(object);
  const at = parsed.ok ? parsed.value.spec.resourceSelector.namespace : undefined;
  return placesOfStatefulset(status, at ?? object.metadata.namespace ?? "default", status.step?.cluster);
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
