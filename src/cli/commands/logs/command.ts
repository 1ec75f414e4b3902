import { examples, perform, type Registry } from "../registry.ts";

export interface LogsOptions {
  readonly attempt?: string;
}

/** `lockstep logs`. */
export function registerLogs(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("logs")
    .description("print the logs of a CrossClusterJob's pods, read through the hub")
    .argument("<ccj/name>", "name of the CrossClusterJob, as ccj/NAME")
    .option("--attempt <number>", "those of one attempt (default: of all that can be read)")
    .addHelpText("after", examples([`${io.program} logs ccj/train`, `${io.program} logs ccj/train --attempt 2`]));
  perform<LogsOptions>(registry, command, async ([name = ""], options) => {
    const { runLogs } = await import("./run.ts");
    return runLogs(io, name, options);
  });
}
