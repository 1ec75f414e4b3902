import type { Amounts, EngineDefinition } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { Finding } from "./findings.ts";

const GIB = 1024 ** 3;

/** What a cluster has room for, if its engine tells: instances that find none stay Pending, and a step waits for them. */
export function checkRoom({ readHeadroom }: EngineDefinition, cluster: KubeObject): Finding[] {
  const room = readHeadroom(cluster);
  if (!room) return [];
  const check = `room in ${cluster.metadata.name}`;
  const offers = `its nodes offer ${told(room.offered)}`;
  if (!room.free) return [{ check, state: "ok", message: `${offers}; the engine does not tell what is free` }];
  const full = Object.entries(room.free).filter(([, amount]) => amount <= 0);
  const message = `${offers}; free: ${told(room.free)}`;
  if (full.length === 0) return [{ check, state: "ok", message }];
  const remedy = `New instances would stay Pending: free some ${full.map(([what]) => what).join(" and ")}, or add nodes.`;
  return [{ check, state: "warning", message, remedy }];
}

function told({ cpu, memory, pods }: Amounts): string {
  const number = (amount: number) => String(Math.round(amount * 10) / 10);
  return [
    ...(cpu === undefined ? [] : [`${number(cpu)} cores`]),
    ...(memory === undefined ? [] : [`${number(memory / GIB)} GiB`]),
    ...(pods === undefined ? [] : [`${number(pods)} pods`]),
  ].join(", ");
}
