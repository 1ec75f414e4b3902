import { LimitError } from "./errors.ts";
import { kindAndName, stringMapAt } from "./json.ts";
import { annotationsRoom, checkLimits, OBJECT_MAX_BYTES } from "./limits.ts";
import { applyOverrides, OverrideError } from "./overrides.ts";
import type { RevisionContent } from "./revision.ts";
import type { ClusterFacts } from "./selectors.ts";

/**
 * The maximum size of the contract's own annotations if the topology is given by reference: the proposal's list of 256
 * clusters is half of it, forty names of ConfigMaps are a quarter.
 */
export const CONTRACT_MAX_BYTES = 48 * 1024;

/**
 * [I18] Why this revision can never be granted to any cluster, or to one of these: with the contract's annotations it
 * would be larger than Kubernetes allows. Checked before a grant names it, for any number of instances. Rendering
 * reports other errors of an override.
 */
export function revisionSizeProblem(content: RevisionContent, clusters: readonly ClusterFacts[]): string | undefined {
  const { template, dependencies, overrides } = content;
  // Without overrides, every cluster gets the same.
  const places = overrides.length === 0 ? [undefined] : clusters;
  for (const place of places) {
    try {
      const inPlace = (object: typeof template) => (place ? applyOverrides(object, place, overrides).object : object);
      for (const dependency of dependencies) checkLimits(inPlace(dependency));
      checkTemplate(inPlace(template));
    } catch (error) {
      if (error instanceof LimitError) return place ? `in cluster ${place.name}: ${error.message}` : error.message;
      if (!(error instanceof OverrideError)) throw error;
    }
  }
  return undefined;
}

function checkTemplate(template: RevisionContent["template"]): void {
  checkLimits(template);
  const room = annotationsRoom(stringMapAt(template, "metadata", "annotations"));
  const size = Buffer.byteLength(JSON.stringify(template));
  const tooLarge = (field: string, actual: number, limit: number) => {
    const problem = `has ${actual} bytes, and at most ${limit} leave room for Lockstep's own annotations`;
    throw new LimitError(kindAndName(template), field, problem, "make it smaller", actual, limit);
  };
  const annotationsMax = annotationsRoom({}) - CONTRACT_MAX_BYTES;
  if (room < CONTRACT_MAX_BYTES) tooLarge("metadata.annotations", annotationsRoom({}) - room, annotationsMax);
  if (size > OBJECT_MAX_BYTES - CONTRACT_MAX_BYTES) {
    tooLarge("the whole object", size, OBJECT_MAX_BYTES - CONTRACT_MAX_BYTES);
  }
}
