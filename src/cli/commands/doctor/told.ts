/** What works against rollouts and only the controller can see, as the status of each application says it. */
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { type Hub, listStatefulsets } from "../../hub/hub.ts";
import type { Finding } from "./findings.ts";

const CHECK = "settings";

/** On Open Cluster Management: how agents report, and ManifestWorks of other writers. */
export async function checkTold(hub: Hub): Promise<Finding[]> {
  return toldIn(await listStatefulsets(hub, undefined));
}

export function toldIn(objects: readonly KubeObject[]): Finding[] {
  if (objects.length === 0) return [];
  const findings = objects.flatMap(({ metadata, status }): Finding[] => {
    const { name, namespace = "" } = metadata;
    const said = isJsonObject(status) ? [...defeatIn(status), ...conflictIn(status)] : [];
    const remedy = `lockstep why ${name} -n ${namespace}`;
    return said.map((message) => ({
      check: CHECK,
      state: "warning",
      message: `${namespace}/${name}: ${message}`,
      remedy,
    }));
  });
  if (findings.length > 0) return findings;
  return [
    { check: CHECK, state: "ok", message: `nothing works against the rollouts of ${objects.length} applications` },
  ];
}

function defeatIn({ reason, message }: JsonObject): string[] {
  return reason === "HoldDefeated" ? [String(message ?? "another writer delivers it, too")] : [];
}

function conflictIn({ conditions }: JsonObject): string[] {
  const all = Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
  return all
    .filter(({ type, status }) => type === "SettingsConflict" && status === "True")
    .map(({ message }) => String(message ?? ""));
}
