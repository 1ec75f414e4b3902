import { examples, NAME_ARGUMENT, perform, type Registry } from "./command.ts";

/** `lockstep pause`. */
export function registerPause(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("pause")
    .description("begin no further step of the update; the step in progress is finished, scaling goes on")
    .argument("<name>", NAME_ARGUMENT)
    .addHelpText("after", examples([`${io.program} pause xline`]));
  perform(registry, command, async ([name = ""], options) => {
    const { pause } = await import("./changes.ts");
    return pause(io, name, options);
  });
}
