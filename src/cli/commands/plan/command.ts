import { HELM_OPTION, KUSTOMIZE_OPTION, type ProgramOptions } from "../../applications/program-options.ts";
import { examples, type OutputOption, perform, type Registry, repeated } from "../registry.ts";

export interface PlanOptions extends OutputOption, ProgramOptions {
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
    .description("show every step, the reason for the order, what each cluster would get, and what would stop it")
    .argument("[name]", "name of a CrossClusterStatefulset on the hub, or dapp/NAME, or ccj/NAME; or give files")
    .option(
      "-f, --filename <file>",
      "a file not yet applied (the CrossClusterStatefulset, its template, policies); may be repeated",
      repeated,
    )
    .option("--offline", "use no hub: the files must contain everything, and spec.topology the clusters")
    .option("--no-diff", "omit the changes of each cluster's objects")
    .option(...HELM_OPTION)
    .option(...KUSTOMIZE_OPTION)
    .option("-o, --output <format>", "json or yaml")
    .addHelpText(
      "after",
      examples([
        `${io.program} plan xline`,
        `${io.program} plan -f xline.yaml`,
        `${io.program} plan -f xline.yaml --offline -o json`,
        "",
        "Exit code: 0 when it would complete, 2 when it would be blocked, 1 for errors.",
      ]),
    );
  perform<PlanOptions>(registry, command, async ([name], options) => {
    const { runPlan } = await import("./run.ts");
    return runPlan(io, name, options);
  });
}
