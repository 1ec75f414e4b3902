import { examples, perform, type Registry } from "../registry.ts";

/** `lockstep retry`. */
export function registerRetry(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("retry")
    .description("start a failed CrossClusterJob again, with what is left of its work")
    .argument("<ccj/name>", "name of the CrossClusterJob, as ccj/NAME")
    .addHelpText("after", examples([`${io.program} retry ccj/train`]));
  perform(registry, command, async ([name = ""], options) => {
    const { runRetry } = await import("../jobs/run.ts");
    return runRetry(io, name, options);
  });
}
