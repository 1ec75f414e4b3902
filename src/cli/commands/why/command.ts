import { isJobName } from "../../terminal/kind-name.ts";
import { examples, NAME_ARGUMENT, type OutputOption, perform, type Registry } from "../registry.ts";

/** `lockstep why`. */
export function registerWhy(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("why")
    .description("show what it waits for in one sentence, the evidence, and the remedy to paste")
    .argument("<name>", NAME_ARGUMENT)
    .option("-o, --output <format>", "json or yaml")
    .addHelpText("after", examples([`${io.program} why xline`]));
  perform<OutputOption>(registry, command, async ([name = ""], options) => {
    if (isJobName(name)) {
      const { runJobWhy } = await import("../jobs/run.ts");
      return runJobWhy(io, name, options);
    }
    const { runWhy } = await import("./run.ts");
    return runWhy(io, name, options);
  });
}
