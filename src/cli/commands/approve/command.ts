import { examples, NAME_ARGUMENT, perform, type Registry } from "../registry.ts";

export interface ApproveOptions {
  readonly wave?: string;
  readonly revision?: string;
  readonly comment?: string;
}

/** `lockstep approve`. */
export function registerApprove(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("approve")
    .description("let the rollout continue after the wave that waits for approval")
    .argument("<name>", NAME_ARGUMENT)
    .option("--wave <n>", "the expected wave, counted from 1; refused if another one waits")
    .option("--revision <name>", "the expected revision that the rollout goes to; refused if it goes to another one")
    .option("--comment <text>", "a comment for later readers")
    .addHelpText(
      "after",
      examples([`${io.program} approve xline`, `${io.program} approve xline --wave 1 --comment "canary looks good"`]),
    );
  perform<ApproveOptions>(registry, command, async ([name = ""], options) => {
    const { approve } = await import("./run.ts");
    return approve(io, name, options);
  });
}
