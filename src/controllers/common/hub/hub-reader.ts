import type { HubRef } from "./hub-objects.ts";
import type { Found, Outline } from "./hub-readings.ts";

/**
 * Any object on the hub, as a reconcile asks for it. The controller answers from watches (HubObjects), a preview from
 * files and single reads. Both answer at once: what is not known yet is `unknown`, and is asked for again when it is.
 */
export interface HubReader {
  get(appKey: string, ref: HubRef): Found;
  /** Names and labels of all objects of a kind in a namespace; undefined while that is not known. */
  list(appKey: string, kind: Omit<HubRef, "name">): readonly Outline[] | undefined;
  /** That the hub does not serve the kind, once that is known. */
  notServed(kind: Pick<HubRef, "apiVersion" | "kind">): string | undefined;
}
