import { examples, perform, type Registry, repeated } from "./command.ts";

export interface InstallOptions {
  readonly apply?: boolean;
  readonly leaseNamespace: string;
  readonly standingHold?: boolean;
  readonly workload?: string[];
}

/** `lockstep install`. */
export function registerInstall(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("install")
    .description(
      "print what the hub needs (CRDs, admission policies, the controller's rights, the standing hold), or apply it",
    )
    .option("--apply", "apply it to the hub of the context, instead of printing it")
    .option("--lease-namespace <name>", "the namespace of the controller's account and lease", "karmada-system")
    .option(
      "--workload <plural.group>",
      "a custom workload that the controller may read, such as xlineclusters.apps.my.io; may be repeated",
      repeated,
    )
    .option("--no-standing-hold", "leave out the hold for templates labelled lockstep.karmada.io/managed=true")
    .addHelpText("after", examples([`${io.program} install | kubectl apply -f -`, `${io.program} install --apply`]));
  perform<InstallOptions>(registry, command, async (_, options) => {
    const { runInstall } = await import("./install-run.ts");
    return runInstall(io, options);
  });
}
