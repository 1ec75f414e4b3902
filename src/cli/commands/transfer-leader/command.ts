import { examples, NAME_ARGUMENT, perform, type Registry } from "../registry.ts";

export interface TransferLeaderOptions {
  readonly to: string;
}

/** `lockstep transfer-leader`. */
export function registerTransferLeader(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("transfer-leader")
    .description("ask the application to move its leader to another cluster or instance")
    .argument("<name>", NAME_ARGUMENT)
    .requiredOption("--to <cluster|instance>", "where the leader should be")
    .addHelpText(
      "after",
      examples([
        `${io.program} transfer-leader xline --to member2`,
        `${io.program} transfer-leader xline --to xline-3`,
        "",
        "It needs spec.updateStrategy.rollingUpdate.leaderTransfer: Lockstep asks only an operator that can move its leader.",
      ]),
    );
  perform<TransferLeaderOptions & Record<string, unknown>>(registry, command, async ([name = ""], options) => {
    const { transferLeader } = await import("./run.ts");
    return transferLeader(io, name, options);
  });
}
