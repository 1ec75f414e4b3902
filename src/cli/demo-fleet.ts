/** The fleet of `lockstep up` as its owner steers it: who is there, who is cut off, cutting and mending. */
import { isJsonObject } from "../runtime/index.ts";
import { CommandError } from "./errors.ts";
import type { Hub } from "./hub.ts";

/** As the embedded fleet serves it; written out, since loading the fleet for one word would take longer than the story. */
const ADMIN_PATH = "/lockstep/v1/fleet/";

export interface FleetMember {
  readonly name: string;
  readonly reachable: boolean;
}

/** Throws when the hub is no fleet of `up`: a story breaks things, and is played nowhere else. */
export async function membersOf(hub: Hub, program: string): Promise<FleetMember[]> {
  const { status, body } = await ask(hub, "GET", "").catch((error: unknown) => {
    throw new CommandError(
      `no fleet answers at ${hub.server}: '${program} up' has ended. Start it again in another terminal, in this folder`,
      { cause: error },
    );
  });
  const answer = status === 200 ? JSON.parse(body) : undefined;
  if (!isJsonObject(answer) || !Array.isArray(answer.members)) {
    throw new CommandError(
      `${hub.server} is not a fleet of '${program} up' (${status} for ${ADMIN_PATH}): stories are played there only, ` +
        "never on a real hub. Give its kubeconfig with --kubeconfig .lockstep/kubeconfig",
    );
  }
  return answer.members
    .filter(isJsonObject)
    .map(({ name, reachable }) => ({ name: String(name), reachable: reachable === true }));
}

export async function steer(hub: Hub, member: string, verb: "cut" | "mend"): Promise<void> {
  const { status, body } = await ask(hub, "POST", `${member}/${verb}`);
  if (status !== 200) throw new CommandError(`the fleet refused to ${verb} ${member}: ${status} ${body.trim()}`);
}

function ask(hub: Hub, method: "GET" | "POST", path: string): Promise<{ status: number; body: string }> {
  return hub.transport.request({ method, path: ADMIN_PATH + path, headers: { accept: "application/json" } });
}
