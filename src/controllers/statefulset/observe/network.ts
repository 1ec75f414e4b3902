import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { NetworkSettings } from "../../../render/index.ts";
import { protocolOf } from "./intent.ts";

/**
 * What Lockstep creates for the instances' names: `Auto` is a headless Service for StatefulSets, exported on request.
 */
export function networkOf(statefulset: ParsedCrossClusterStatefulset): NetworkSettings {
  const { headlessService, serviceExport } = statefulset.spec.network;
  const ships =
    headlessService === "Always" || (headlessService === "Auto" && protocolOf(statefulset) === "statefulset");
  return { headlessService: ships, serviceExport: serviceExport === "Always" };
}
