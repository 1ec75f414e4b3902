/**
 * Which changes of a ManifestWork of ours are news. A question and its answer, every few seconds for each cluster that is
 * seen through its agent alone, are none as long as the answer is what it was.
 */
import type { KubeObject } from "../../kube/index.ts";
import { isManifest, manifestsOf, refOf } from "../dispatch-objects.ts";
import { isTime, readValues } from "./feedback.ts";
import { isThere, manifestStatus } from "./reports.ts";
import { deliveryFailure } from "./works.ts";

/** The time in a mark changes with every question. */
const MARK_TIME = /("[a-z0-9]{8}\.\d+)\.\d+"/g;

/** What writers have changed: all but the generation, which a question moves too; and whether the agent refused it. */
export function isWrittenOtherwise(work: KubeObject, previous: KubeObject): boolean {
  return work !== previous && writtenText(work) !== writtenText(previous);
}

/** What the agent reports of the object and its pods, without what every apply changes. */
export function isReportedOtherwise(work: KubeObject, previous: KubeObject): boolean {
  return work !== previous && reportText(work) !== reportText(previous);
}

function writtenText(work: KubeObject): string {
  const { uid, labels, annotations, deletionTimestamp } = work.metadata;
  const text = JSON.stringify([uid, labels, annotations, deletionTimestamp, work.spec, deliveryFailure(work)]);
  return text.replaceAll(MARK_TIME, '$1"');
}

function reportText(work: KubeObject): string {
  const refs = manifestsOf(work).filter(isManifest).map(refOf);
  const reports = refs.map((ref, at) => {
    const report = manifestStatus(work, ref);
    const values = [...readValues(report)].filter(
      ([name]) => !isTime(name) && (at > 0 || name !== "/metadata/resourceVersion"),
    );
    return [isThere(report), values];
  });
  return JSON.stringify(reports).replaceAll(MARK_TIME, '$1"');
}
