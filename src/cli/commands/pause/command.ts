import { examples, NAME_ARGUMENT, perform, type Registry } from "../registry.ts";

/** `lockstep pause`. */
export function registerPause(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("pause")
    .description("start no further step of the update; the step in progress completes, scaling continues")
    .argument("<name>", NAME_ARGUMENT)
    .addHelpText("after", examples([`${io.program} pause xline`]));
  perform(registry, command, async ([name = ""], options) => {
    const { runPause } = await import("./run.ts");
    return runPause(io, name, options);
  });
}
