import { examples, NAME_ARGUMENT, perform, type Registry } from "../registry.ts";

/** `lockstep resume`. */
export function registerResume(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("resume")
    .description("continue after a pause, or after a halt (a failed step, an adoption with differences)")
    .argument("<name>", NAME_ARGUMENT)
    .addHelpText("after", examples([`${io.program} resume xline`]));
  perform(registry, command, async ([name = ""], options) => {
    const { runResume } = await import("./run.ts");
    return runResume(io, name, options);
  });
}
