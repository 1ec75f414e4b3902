/** What an agent's settings keep from its reports, where these are all that is known of a cluster. */
import type { KubeObject } from "../../kube/index.ts";
import type { EngineSetting, ObjectRef } from "../port.ts";
import { lacksStatus } from "./feedback.ts";
import { manifestStatus, withheldParts } from "./reports.ts";
import type { SignsOfLife } from "./signs-of-life.ts";

const ACCESS = "give access to the cluster with a Secret (docs/guides/ocm.md)";

/** `works`: those whose reports are read. */
export function settingsOf(
  { kind, name }: ObjectRef,
  works: readonly KubeObject[],
  signs: Pick<SignsOfLife, "isSlow">,
): readonly EngineSetting[] {
  const clustersOf = (those: readonly KubeObject[]) =>
    [...new Set(those.map(({ metadata }) => metadata.namespace ?? ""))].sort();
  const lacking = works.filter((work) => lacksStatus(withheldParts(manifestStatus(work))));
  const slow = works.filter(({ metadata }) => signs.isSlow(metadata.namespace ?? ""));
  return [
    ...clustersOf(lacking).map((cluster) => ({
      message: `the agent of cluster ${cluster} does not report the status of ${kind} ${name} as a whole, so what the kind's health is read from may be missing, and then no step ends`,
      remedy: `enable the feature gate RawFeedbackJsonString of its klusterlet (spec.workConfiguration.featureGates), or ${ACCESS}`,
    })),
    ...clustersOf(slow).map((cluster) => ({
      message: `the agent of cluster ${cluster} takes seconds to report a change; every step waits for it`,
      remedy: `see whether its klusterlet lacks processor time or its connection is slow; 'lockstep doctor' names rights that it lacks; or ${ACCESS}`,
    })),
  ];
}
