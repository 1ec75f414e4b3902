import { examples, perform, type Registry } from "../registry.ts";

export interface DrainOptions {
  readonly yes?: boolean;
  readonly moveInstances?: boolean;
}

const CLUSTER = "name of the member cluster";

/** `lockstep drain` and `lockstep undrain`: a cluster's maintenance. */
export function registerDrain(registry: Registry): void {
  const { program, io } = registry;
  const drain = program
    .command("drain")
    .description("prepare a cluster for maintenance: leaders move to other clusters, and no step starts there")
    .argument("<cluster>", CLUSTER)
    .option("--move-instances", "also move instances to other clusters, if spec.topology sets the number of each")
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      examples([
        `${io.program} drain member3`,
        `${io.program} drain member3 --move-instances`,
        "",
        "Without --move-instances every instance stays and keeps its vote.",
      ]),
    );
  perform<DrainOptions>(registry, drain, async ([cluster = ""], options) => {
    const { drain: run } = await import("./run.ts");
    return run(io, cluster, options);
  });

  const undrain = program
    .command("undrain")
    .description("end a cluster's maintenance: waiting steps start")
    .argument("<cluster>", CLUSTER)
    .addHelpText("after", examples([`${io.program} undrain member3`]));
  perform(registry, undrain, async ([cluster = ""], options) => {
    const { undrain: run } = await import("./run.ts");
    return run(io, cluster, options);
  });
}
