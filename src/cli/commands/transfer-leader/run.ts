import type { CrossClusterStatefulsetStatus, ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import { CommandError } from "../../errors.ts";
import { change, describe, patchSpec, readStatefulset, timeNow } from "../../hub/change.ts";
import { whoAmI } from "../../hub/whoami.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { nearest } from "../../terminal/nearest.ts";
import type { TransferLeaderOptions } from "./command.ts";

type Status = CrossClusterStatefulsetStatus;

/**
 * [L8] Requests that are known to be impossible are refused here; the controller reports the rest in
 * status.leaderTransfer.
 */
export function transferLeader(
  io: Io,
  given: string,
  { to, ...options }: TransferLeaderOptions & GlobalOptions,
): Promise<undefined> {
  return change(io, given, options, async (hub, object) => {
    const { spec, status, metadata } = readStatefulset(object);
    const problem = impossible(spec);
    if (problem !== undefined) throw new CommandError(`${describe(object)} cannot move its leader: ${problem}`);
    checkDestination(status, to, describe(object));
    const { leader } = status ?? {};
    if (leader && (leader.cluster === to || leader.instance === to)) {
      return `${describe(object)}: the leader is ${leaderText(leader)} already`;
    }
    const by = await whoAmI(hub);
    await patchSpec(hub, object, { transferLeader: { to, at: timeNow(hub), by: by ?? null } });
    const from = leader ? ` (now ${leaderText(leader)})` : "";
    return `${describe(object)}: the leader${from} is asked to move to ${to}; '${io.program} status ${metadata.name}' shows the result`;
  });
}

function impossible({ leader, completion, updateStrategy }: ParsedCrossClusterStatefulset["spec"]): string | undefined {
  if (leader === undefined && completion.protocol !== "Contract")
    return "its leader is unknown: set spec.leader, or use an operator on the contract";
  if (updateStrategy.type !== "RollingUpdate" || !updateStrategy.rollingUpdate.leaderTransfer)
    return "spec.updateStrategy.rollingUpdate.leaderTransfer is not set, so its operator is not asked to move the leader";
  return undefined;
}

function checkDestination(status: Status | undefined, to: string, object: string): void {
  const rows = (status?.clusters ?? []).filter(({ ordinals }) => (ordinals?.length ?? 0) > 0);
  const names = rows.flatMap(({ name, instances = [] }) => [
    name,
    ...instances.flatMap((instance) => [instance.name, `${name}/${instance.name}`]),
  ]);
  // A large application lists no instances: then only the controller knows them all.
  const isListed = rows.every(({ instances }) => instances !== undefined);
  if (names.includes(to) || !isListed) return;
  const like = nearest(to, names);
  const clusters = rows.map(({ name }) => name).join(", ") || "none";
  throw new CommandError(
    `--to '${to}': ${object} has no such cluster or instance; ${like ? `did you mean '${like}'?` : `its clusters are: ${clusters}`}`,
  );
}

function leaderText({ cluster, instance }: NonNullable<Status["leader"]>): string {
  return instance === undefined ? `in ${cluster}` : `${instance} in ${cluster}`;
}
