import { examples, perform, type Registry } from "./command.ts";

export interface ConfirmOptions {
  readonly yes?: boolean;
}

const CLUSTER = "name of the member cluster";
const NAME = "name of the CrossClusterStatefulset; all of the namespace that use the cluster without it";

/** `lockstep confirm-lost` and `lockstep confirm-drain`: a person's word where no evidence can be had. */
export function registerConfirm(registry: Registry): void {
  const { program, io } = registry;
  const lost = program
    .command("confirm-lost")
    .description("declare a cluster's instances gone for good: they vote no longer, and may be replaced")
    .argument("<cluster>", CLUSTER)
    .argument("[name]", NAME)
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      examples([
        `${io.program} confirm-lost member3 xline`,
        "",
        "If the instances are alive after all, the application may end up with two halves: be sure first.",
      ]),
    );
  perform<ConfirmOptions>(registry, lost, async ([cluster = "", name], options) => {
    const { confirmLost } = await import("./changes.ts");
    return confirmLost(io, cluster, name, options);
  });

  const drain = program
    .command("confirm-drain")
    .description("allow the instances of a cluster that came back, and is not wanted any more, to be removed")
    .argument("<cluster>", CLUSTER)
    .argument("[name]", NAME)
    .option("--yes", "do not ask")
    .addHelpText("after", examples([`${io.program} confirm-drain member3 xline`]));
  perform<ConfirmOptions>(registry, drain, async ([cluster = "", name], options) => {
    const { confirmDrain } = await import("./changes.ts");
    return confirmDrain(io, cluster, name, options);
  });
}
