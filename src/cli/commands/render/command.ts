import { HELM_OPTION, KUSTOMIZE_OPTION, type ProgramOptions } from "../../applications/program-options.ts";
import { examples, type OutputOption, perform, type Registry, repeated } from "../registry.ts";

export interface RenderOptions extends OutputOption, ProgramOptions {
  readonly filename?: string[];
  readonly cluster?: string;
  readonly offline?: boolean;
}

/** `lockstep render`. */
export function registerRender(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("render")
    .description("show the objects that each cluster would have at the end")
    .argument("[name]", "name of a CrossClusterStatefulset on the hub; or give files")
    .option(
      "-f, --filename <file>",
      "a file not yet applied (the CrossClusterStatefulset, its template, policies); may be repeated",
      repeated,
    )
    .option("--cluster <name>", "only this cluster")
    .option("--offline", "use no hub: the files must contain everything, and spec.topology the clusters")
    .option(...HELM_OPTION)
    .option(...KUSTOMIZE_OPTION)
    .option("-o, --output <format>", "yaml (default) or json")
    .addHelpText(
      "after",
      examples([`${io.program} render -f xline.yaml`, `${io.program} render xline --cluster member1 -o json`]),
    );
  perform<RenderOptions>(registry, command, async ([name], options) => {
    const { runRender } = await import("../plan/run.ts");
    return runRender(io, name, options);
  });
}
