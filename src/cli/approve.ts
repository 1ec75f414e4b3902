import { examples, NAME_ARGUMENT, perform, type Registry } from "./command.ts";

export interface ApproveOptions {
  readonly wave?: string;
  readonly comment?: string;
}

/** `lockstep approve`. */
export function registerApprove(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("approve")
    .description("open a wave's manual gate for the revision that is being rolled out")
    .argument("<name>", NAME_ARGUMENT)
    .option("--wave <n>", "the wave that waits, counted from 0 (default: the one in progress)")
    .option("--comment <text>", "why, for those who read it later")
    .addHelpText("after", examples([`${io.program} approve xline`, `${io.program} approve xline --wave 1`]));
  perform<ApproveOptions>(registry, command, async ([name = ""], options) => {
    const { approve } = await import("./changes.ts");
    return approve(io, name, options);
  });
}
