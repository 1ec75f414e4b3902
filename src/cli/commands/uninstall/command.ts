import { ENGINE_OPTION, type EngineOption } from "../../hub/engine-option.ts";
import { examples, perform, type Registry, SYSTEM_NAMESPACE_OPTION } from "../registry.ts";

export interface UninstallOptions extends EngineOption {
  readonly release?: boolean;
  readonly apply?: boolean;
  readonly yes?: boolean;
  readonly timeout: string;
  readonly systemNamespace: string;
}

/** `lockstep uninstall`: what must happen before Lockstep's kinds may be deleted, and their deletion. */
export function registerUninstall(registry: Registry): void {
  const { program, io } = registry;
  const uninstall = program
    .command("uninstall")
    .description("list what Lockstep still manages; --release lets go of it, --apply deletes Lockstep from the hub")
    .option("--release", "delete all of Lockstep's objects so that what they deployed stays as it is in the members")
    .option("--apply", "delete what 'install --apply' created on the hub; refused while Lockstep manages anything")
    .option("--yes", "do not ask")
    .option("--timeout <duration>", "how long --release waits for the controller", "5m")
    .option(...ENGINE_OPTION)
    .option(...SYSTEM_NAMESPACE_OPTION)
    .addHelpText(
      "after",
      examples([
        `${io.program} uninstall`,
        `${io.program} uninstall --release`,
        "kubectl --context host delete -f host.yaml",
        `${io.program} uninstall --apply`,
        "",
        "Do not delete the CRDs, or 'install''s manifests, by hand before: with a CRD, the API server deletes all of its",
        "objects, and those with deletionPolicy: Teardown take their instances with them.",
      ]),
    );
  perform<UninstallOptions>(registry, uninstall, async (_args, options) => {
    const { runUninstall } = await import("./run.ts");
    return runUninstall(io, options);
  });
}
