import { isJobName } from "../../terminal/kind-name.ts";
import { examples, type OutputOption, perform, type Registry } from "../registry.ts";

export interface StatusOptions extends OutputOption {
  readonly watch?: boolean;
  readonly allNamespaces?: boolean;
}

/** `lockstep status`. */
export function registerStatus(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("status")
    .description("show clusters, instances, roles, revisions, gates and reasons as one tree; without a name, a list")
    .argument("[name]", "name of the CrossClusterStatefulset (default: all in the namespace)")
    .option("-w, --watch", "keep running, and show every change")
    .option("-A, --all-namespaces", "list those of all namespaces")
    .option("-o, --output <format>", "json, yaml, wide or name")
    .addHelpText(
      "after",
      examples([`${io.program} status`, `${io.program} status xline -w`, `${io.program} status xline -o json`]),
    );
  perform<StatusOptions>(registry, command, async ([name], options) => {
    if (isJobName(name)) {
      const { runJobStatus } = await import("../jobs/run.ts");
      return runJobStatus(io, name, options);
    }
    const { runStatus } = await import("./run.ts");
    return runStatus(io, name, options);
  });
}
