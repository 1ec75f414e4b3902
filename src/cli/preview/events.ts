import { type KubeObject, resource } from "../../kube/index.ts";
import type { Hub } from "../hub/hub.ts";

const EVENTS = resource({ apiVersion: "v1", kind: "Event", plural: "events", namespaced: true });

/** What the controller said about the application lately. Best effort: it only serves an estimate. */
export async function eventsOf(
  { client, request }: Hub,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<readonly KubeObject[]> {
  try {
    const fieldSelector = `involvedObject.name=${name}`;
    return (await client.listAll(EVENTS, { namespace, fieldSelector, ...request })).items;
  } catch {
    return [];
  }
}
