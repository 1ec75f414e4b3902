import { ENGINE_OPTION } from "../../hub/engine-option.ts";
import {
  examples,
  perform,
  REQUIRE_ALLOWED_CLUSTERS_OPTION,
  type Registry,
  repeated,
  SYSTEM_NAMESPACE_OPTION,
  WORKLOAD_OPTION,
} from "../registry.ts";

export interface InstallOptions {
  readonly apply?: boolean;
  readonly systemNamespace: string;
  readonly engine?: string;
  readonly standingHold?: boolean;
  readonly workload?: string[];
  readonly controllerUser?: string;
  readonly requireAllowedClusters?: boolean;
}

/** `lockstep install`. */
export function registerInstall(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("install")
    .description(
      "print the hub's manifests (CRDs, the controller's rights, roles for people, admission policies, the standing hold), or apply them",
    )
    .option("--apply", "apply them to the hub of the context, instead of printing them")
    .option(...ENGINE_OPTION)
    .option(...SYSTEM_NAMESPACE_OPTION)
    .option(...WORKLOAD_OPTION, repeated)
    .option("--controller-user <name>", "the hub's user that the controller authenticates as (default: its account)")
    .option(...REQUIRE_ALLOWED_CLUSTERS_OPTION)
    .option("--no-standing-hold", "omit the hold for templates labelled lockstep.karmada.io/managed=true")
    .addHelpText(
      "after",
      examples([
        `${io.program} install | kubectl apply -f -`,
        `${io.program} install --apply`,
        `${io.program} install --engine ocm --workload xlineclusters.apps.my.io --apply`,
        "",
        "Without --engine, 'install --apply' installs for the engine that the hub serves, and 'install' prints for Karmada.",
      ]),
    );
  perform<InstallOptions>(registry, command, async (_, options) => {
    const { runInstall } = await import("./run.ts");
    return runInstall(io, options);
  });
}
