import { type CrossClusterStatefulsetStatus, parseCrossClusterStatefulset } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { applicationName } from "../../applications/kind.ts";
import { applicationStatus } from "../../applications/looking.ts";
import { CommandError } from "../../errors.ts";
import { getStatefulset, type Hub, withHub } from "../../hub/hub.ts";
import { placesOfStatefulset } from "../../hub/pod-places.ts";
import { podReports } from "../../hub/pod-reports.ts";
import { statusOf } from "../../hub/status.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { formatOf, print, printData, styleOf } from "../../terminal/output.ts";
import type { StatusOptions } from "./command.ts";
import { kubectlName, listAll } from "./list.ts";
import { statusTree } from "./view.ts";

export async function runStatus(
  io: Io,
  given: string | undefined,
  options: StatusOptions & GlobalOptions,
): Promise<undefined> {
  const application = applicationName(given);
  if (application !== undefined) return applicationStatus(io, application, options);
  const format = formatOf(options.output, ["json", "yaml", "wide", "name"]);
  if (given !== undefined && options.allNamespaces) {
    throw new CommandError("a name cannot be combined with --all-namespaces; use -n for the object's namespace");
  }
  if (options.watch && (given === undefined || (format !== "text" && format !== "json"))) {
    throw new CommandError("--watch needs a name, and works only with the tree or -o json");
  }
  if (options.watch && given !== undefined) return watch(io, given, options, format === "json");
  return withHub(io, options, async (hub) => {
    if (given === undefined) return listAll(io, hub, options.allNamespaces === true, format);
    const object = await getStatefulset(hub, given);
    if (format === "json" || format === "yaml") printData(io, format, object);
    else if (format === "name") print(io, kubectlName(object));
    else {
      const view = { object, status: await withPodReasons(hub, object) };
      const options = { wide: format === "wide" };
      print(io, statusTree(view, styleOf(io), hub.clock.now(), options).join("\n"));
    }
    return undefined;
  });
}

async function watch(io: Io, given: string, options: GlobalOptions, json: boolean): Promise<undefined> {
  const watched = await withHub(io, options, async (hub) => {
    const { metadata } = await getStatefulset(hub, given);
    return { namespace: hub.namespace, name: metadata.name, server: hub.server };
  });
  const { watchStatus } = await import("./watch.ts");
  return watchStatus(io, options, watched, json);
}

/** The tree shows this itself. */
const SHOWN_ALREADY = new Set(["NotReady", "Terminating"]);

/** The pods of a StatefulSet are in its status; those of other kinds are read, if the user may. */
async function withPodReasons(hub: Hub, object: KubeObject): Promise<CrossClusterStatefulsetStatus> {
  const status = statusOf(object);
  const parsed = parseCrossClusterStatefulset(object);
  const lacks = (status.clusters ?? []).some(
    ({ granted, observed, instances = [] }) =>
      (observed?.ready ?? 0) < (granted?.replicas ?? 0) && !instances.some(({ reason }) => reason !== undefined),
  );
  if (!lacks || !parsed.ok) return status;
  const { namespace } = parsed.value.spec.resourceSelector;
  const { pods } = await podReports(hub, { places: placesOfStatefulset(status, namespace), withLogs: false });
  const reasonOf = (cluster: string, name: string) =>
    pods.find((pod) => pod.cluster === cluster && pod.name === name && !SHOWN_ALREADY.has(pod.reason))?.reason;
  const clusters = (status.clusters ?? []).map((row) => ({
    ...row,
    ...(row.instances && {
      instances: row.instances.map((instance) => {
        const reason = instance.reason ?? reasonOf(row.name, instance.name);
        return reason === undefined ? instance : { ...instance, reason };
      }),
    }),
  }));
  return { ...status, clusters };
}
