import { examples, perform, type Registry } from "./command.ts";

export interface ConfirmLostOptions {
  readonly yes?: boolean;
}

/** `lockstep confirm-lost`. */
export function registerConfirmLost(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("confirm-lost")
    .description("declare a cluster's instances gone for good: they vote no longer, and may be replaced")
    .argument("<cluster>", "name of the member cluster")
    .argument("[name]", "name of the CrossClusterStatefulset; all of the namespace that use the cluster without it")
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      examples([
        `${io.program} confirm-lost member3 xline`,
        "",
        "If the instances are alive after all, the application may end up with two halves: be sure first.",
      ]),
    );
  perform<ConfirmLostOptions>(registry, command, async ([cluster = "", name], options) => {
    const { confirmLost } = await import("./changes.ts");
    return confirmLost(io, cluster, name, options);
  });
}
