import { examples, NAME_ARGUMENT, perform, type Registry } from "../registry.ts";

/** `lockstep restart`. */
export function registerRestart(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("restart")
    .description("restart every instance in the order of an update, never below quorum")
    .argument("<name>", NAME_ARGUMENT)
    .addHelpText("after", examples([`${io.program} restart xline`]));
  perform(registry, command, async ([name = ""], options) => {
    const { runRestart } = await import("./run.ts");
    return runRestart(io, name, options);
  });
}
