import { examples, NAME_ARGUMENT, perform, type Registry, repeated } from "../registry.ts";

export interface ScaleOptions {
  readonly replicas?: string;
  readonly cluster?: string[];
  readonly yes?: boolean;
}

/** `lockstep scale`. */
export function registerScale(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("scale")
    .description("change the number of instances, in total or per cluster; membership changes follow one at a time")
    .argument("<name>", NAME_ARGUMENT)
    .option("--replicas <n>", "instances over all clusters")
    .option("--cluster <name=n>", "instances in one cluster, such as member1=3; may be repeated", repeated)
    .option("--yes", "do not ask before a cluster is drained to 0")
    .addHelpText(
      "after",
      examples([
        `${io.program} scale xline --replicas 7`,
        `${io.program} scale xline --cluster member1=3 --cluster member2=2`,
      ]),
    );
  perform<ScaleOptions>(registry, command, async ([name = ""], options) => {
    const { runScale } = await import("./run.ts");
    return runScale(io, name, options);
  });
}
