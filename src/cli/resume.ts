import { examples, NAME_ARGUMENT, perform, type Registry } from "./command.ts";

/** `lockstep resume`. */
export function registerResume(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("resume")
    .description("go on after a pause, or after a halt (a failed step, an adoption with differences)")
    .argument("<name>", NAME_ARGUMENT)
    .addHelpText("after", examples([`${io.program} resume xline`]));
  perform(registry, command, async ([name = ""], options) => {
    const { resume } = await import("./changes.ts");
    return resume(io, name, options);
  });
}
