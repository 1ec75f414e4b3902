/** The fleet of `lockstep up`, as its owner controls it: its members, their connections, cutting and mending. */
import { isJsonObject } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import type { Hub } from "./hub.ts";
import { UP_KUBECONFIG, upKubeconfig } from "./up-kubeconfig.ts";

/** The path that the embedded fleet serves; a copy, because loading the fleet for one constant takes too long. */
const ADMIN_PATH = "/lockstep/v1/fleet/";

/** The kubeconfig of the fleet in this folder, or the given one. Throws if there is none. */
export function fleetKubeconfig(io: Io, options: GlobalOptions): string {
  if (options.kubeconfig !== undefined) return options.kubeconfig;
  const found = upKubeconfig(io);
  if (found.kind === "found") return UP_KUBECONFIG;
  if (io.env.KUBECONFIG) return io.env.KUBECONFIG;
  const why = found.kind === "absent" ? "does not exist in this folder" : `is not one of 'up': ${found.why}`;
  throw new CommandError(
    `no fleet runs here: ${UP_KUBECONFIG} ${why}. Start one with '${io.program} up' in another ` +
      "terminal, in this folder, or name its kubeconfig with --kubeconfig",
  );
}

export interface FleetMember {
  readonly name: string;
  readonly reachable: boolean;
}

/** Throws if the hub is not a fleet of `up`: a demo breaks things, and must not run anywhere else. */
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
      `${hub.server} is not a fleet of '${program} up' (${status} for ${ADMIN_PATH}): this command works only there, ` +
        "never on a real hub. Pass its kubeconfig with --kubeconfig .lockstep/kubeconfig",
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
