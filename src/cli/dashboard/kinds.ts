/** The three kinds as the dashboard names them. */
import type { Resource } from "../../kube/index.ts";
import type { ApplicationName, AppType } from "../../web/index.ts";
import { APPLICATIONS } from "../applications/kind.ts";
import { STATEFULSETS } from "../hub/hub.ts";
import { CROSS_CLUSTER_JOBS } from "../hub/job.ts";

export const RESOURCES: Readonly<Record<AppType, Resource>> = {
  ccs: STATEFULSETS,
  dapp: APPLICATIONS,
  ccj: CROSS_CLUSTER_JOBS,
};

/** As commands take it: a CrossClusterStatefulset needs no kind. */
export function argumentOf({ type, name }: Pick<ApplicationName, "type" | "name">): string {
  return type === "ccs" ? name : `${type}/${name}`;
}
