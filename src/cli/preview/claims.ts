/** Whether another CrossClusterStatefulset owns the template: decided as the controller does, from the hub. */
import { parseCrossClusterStatefulset } from "../../api/index.ts";
import {
  claimantOf,
  claimedMessage,
  findTemplate,
  ownershipOf,
  selectedBy,
  targetKey,
} from "../../controllers/index.ts";
import type { ObjectRef } from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { type Hub, ledgerOf, listStatefulsets } from "../hub/hub.ts";
import { HubReads } from "./reads.ts";

/** What the controller would say instead of doing anything; undefined: the object owns its template. */
export async function claimOfAnother(
  hub: Hub,
  own: { readonly namespace: string; readonly name: string },
  target: ObjectRef,
): Promise<string | undefined> {
  const all = await listStatefulsets(hub, own.namespace);
  // What has not been applied yet is the youngest.
  const asked = { apiVersion: "", kind: "", metadata: { namespace: own.namespace, name: own.name } };
  const claimant = claimantOf(all.find(({ metadata }) => metadata.name === own.name) ?? asked, true);
  if (!claimant) return undefined;
  const reads = new HubReads(hub, []);
  const others = all.filter(({ metadata }) => metadata.name !== own.name);
  const contend = () =>
    others.flatMap((other) => {
      const theirs = claimantOf(other, parseCrossClusterStatefulset(other).ok);
      return theirs && isSelected(reads, other, target) ? [{ ...theirs, selects: "it" as const }] : [];
    });
  let contenders = contend();
  while (await reads.read()) contenders = contend();
  const ownership = ownershipOf(claimant, contenders);
  return ownership.kind === "claimed" ? claimedMessage(target, ownership.by) : undefined;
}

function isSelected(reads: HubReads, other: KubeObject, target: ObjectRef): boolean {
  const selected = selectedBy(other);
  if (selected === undefined) return false;
  if (selected.kind === "by name") return targetKey(selected.ref) === targetKey(target);
  if (targetKey({ ...selected.place, name: target.name }) !== targetKey(target)) return false;
  // What was deployed keeps its name, whatever its labels match by now.
  const recorded = ledgerOf(other)?.identity?.app.name;
  if (recorded !== undefined) return recorded === target.name;
  const parsed = parseCrossClusterStatefulset(other);
  const found = parsed.ok ? findTemplate(reads, "", parsed.value) : undefined;
  return found?.kind === "one" && found.object.metadata.name === target.name;
}
