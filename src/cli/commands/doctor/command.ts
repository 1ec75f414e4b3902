import { ENGINE_OPTION, type EngineOption } from "../../hub/engine-option.ts";
import { examples, type OutputOption, perform, type Registry } from "../registry.ts";

/** `lockstep doctor`. */
export function registerDoctor(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("doctor")
    .description(
      "check versions, CRDs, admission policies, each member's reachability, rights on hub and members, and leftover holds",
    )
    .option(...ENGINE_OPTION)
    .option("-o, --output <format>", "json or yaml")
    .addHelpText(
      "after",
      examples([`${io.program} doctor`, "", "Exit code: 0 when no problem is found, 1 otherwise."]),
    );
  perform<OutputOption & EngineOption>(registry, command, async (_, options) => {
    const { runDoctor } = await import("./run.ts");
    return runDoctor(io, options);
  });
}
