/** What an agent's settings keep from its reports, where these are all that is known of a cluster. */
import type { KubeObject } from "../../kube/index.ts";
import type { EngineSetting, ObjectRef } from "../port.ts";
import { lacksStatus } from "./feedback.ts";
import { manifestStatus, withheldParts } from "./reports.ts";
import type { Pace, SignsOfLife } from "./signs-of-life.ts";

const ACCESS = "give access to the cluster with a Secret (docs/guides/ocm.md)";

/** `works`: those whose reports are read. */
export function settingsOf(
  { kind, name }: ObjectRef,
  works: readonly KubeObject[],
  signs: Pick<SignsOfLife, "paceOf">,
): readonly EngineSetting[] {
  const clustersOf = (those: readonly KubeObject[]) =>
    [...new Set(those.map(({ metadata }) => metadata.namespace ?? ""))].sort();
  const lacking = works.filter((work) => lacksStatus(withheldParts(manifestStatus(work))));
  const atPace = (pace: Pace) => works.filter(({ metadata }) => signs.paceOf(metadata.namespace ?? "") === pace);
  return [
    ...clustersOf(lacking).map((cluster) => ({
      message: `the agent of cluster ${cluster} does not report the status of ${kind} ${name} as a whole, so what the kind's health is read from may be missing, and then no step ends`,
      remedy: `enable the feature gate RawFeedbackJsonString of its klusterlet (spec.workConfiguration.featureGates), or ${ACCESS}`,
    })),
    ...clustersOf(atPace("slow")).map((cluster) => ({
      message: `the agent of cluster ${cluster} takes seconds to report a change; every step waits for it`,
      remedy: `see whether its klusterlet lacks processor time or its connection is slow; 'lockstep doctor' names rights that it lacks; or ${ACCESS}`,
    })),
    ...clustersOf(atPace("late")).map((cluster) => ({
      message: `the agent of cluster ${cluster} reports changes seconds after they happen, as one that polls does; every step waits for it`,
      remedy: `update its klusterlet to OCM 1.2 or newer; 'lockstep doctor' names kinds that it may not watch; an agent watches at most --max-feedback-watch (50) kinds and namespaces; or ${ACCESS}`,
    })),
  ];
}
