import { isJobName } from "../../terminal/kind-name.ts";
import { examples, NAME_ARGUMENT, type OutputOption, perform, type Registry } from "../registry.ts";

export interface HistoryOptions extends OutputOption {
  readonly revision?: string;
}

/** `lockstep history`. */
export function registerHistory(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("history")
    .description("the revisions, newest first, and what each one changed")
    .argument("<name>", NAME_ARGUMENT)
    .option(
      "--revision <revision>",
      "only this one: its name or number, with the whole difference and how it was rolled out",
    )
    .option("-o, --output <format>", "json, yaml, wide or name")
    .addHelpText("after", examples([`${io.program} history xline`, `${io.program} history xline --revision 3`]));
  perform<HistoryOptions>(registry, command, async ([name = ""], options) => {
    if (isJobName(name)) {
      const { runJobHistory } = await import("../jobs/run.ts");
      return runJobHistory(io, name, options);
    }
    const { runHistory } = await import("./run.ts");
    return runHistory(io, name, options);
  });
}
