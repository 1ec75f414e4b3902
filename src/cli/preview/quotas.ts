/** What the namespace's quotas leave in each cluster, as this user may read them. */
import { type Gathered, quotaRoom } from "../../controllers/index.ts";
import { type EngineDefinition, readLimits } from "../../engine/index.ts";
import type { Room } from "../../rollout/index.ts";
import type { Hub } from "../hub/hub.ts";
import { withMember } from "../hub/members.ts";

/** What was gathered, with the quotas of the clusters that the schedule names. */
export async function withQuotas(
  hub: Hub,
  engine: EngineDefinition,
  gathered: Gathered,
  namespace: string,
  notes: string[],
): Promise<Gathered> {
  const { facts, intent } = gathered;
  const { template, instanceRequest: request = {} } = facts;
  const scheduled = intent.schedule.kind === "known" ? intent.schedule.clusters.map(({ cluster }) => cluster) : [];
  const ready = scheduled.filter((cluster) => intent.fleet[cluster]?.state === "Ready");
  if (!template || ready.length === 0) return gathered;
  const quotaRooms: Record<string, Room> = {};
  const unread: string[] = [];
  await Promise.all(
    ready.map(async (cluster) => {
      try {
        const read = withMember(hub, engine, cluster, ({ client }) => readLimits(client, namespace, hub.request));
        const room = quotaRoom(await read, { template, request }, 0);
        if (room) quotaRooms[cluster] = room;
      } catch {
        unread.push(cluster);
      }
    }),
  );
  if (unread.length > 0) {
    notes.push(`quotas in ${unread.sort().join(", ")} cannot be read with your rights: the room shown is without them`);
  }
  return { ...gathered, facts: { ...facts, quotaRooms } };
}
