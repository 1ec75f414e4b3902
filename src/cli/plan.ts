import { examples, type OutputOption, perform, type Registry, repeated } from "./command.ts";

export interface PlanOptions extends OutputOption {
  readonly filename?: string[];
  readonly offline?: boolean;
  /** False with --no-diff. */
  readonly diff?: boolean;
}

/** `lockstep plan`. */
export function registerPlan(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("plan")
    .description("every step it would take, why in that order, what each cluster would get, and what would stop it")
    .argument("[name]", "name of a CrossClusterStatefulset on the hub; or give files")
    .option(
      "-f, --filename <file>",
      "a file not yet applied (the CrossClusterStatefulset, its template, policies); may be repeated",
      repeated,
    )
    .option("--offline", "ask no hub: the files must hold everything, and spec.topology the clusters")
    .option("--no-diff", "leave out what changes in each cluster's objects")
    .option("-o, --output <format>", "json or yaml")
    .addHelpText(
      "after",
      examples([
        `${io.program} plan xline`,
        `${io.program} plan -f xline.yaml`,
        `${io.program} plan -f xline.yaml --offline -o json`,
        "",
        "Exit code: 0 when it would come to its end, 2 when it would be blocked, 1 for errors.",
      ]),
    );
  perform<PlanOptions>(registry, command, async ([name], options) => {
    const { runPlan } = await import("./plan-run.ts");
    return runPlan(io, name, options);
  });
}
