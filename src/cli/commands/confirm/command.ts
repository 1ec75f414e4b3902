import { isJobName } from "../../terminal/kind-name.ts";
import { examples, perform, type Registry } from "../registry.ts";

export interface ConfirmOptions {
  readonly yes?: boolean;
}

const CLUSTER = "name of the member cluster";
const NAME = "name of the CrossClusterStatefulset (default: all in the namespace that use the cluster)";

/** `lockstep confirm-lost` and `lockstep confirm-drain`: a user's confirmation if there is no evidence. */
export function registerConfirm(registry: Registry): void {
  const { program, io } = registry;
  const lost = program
    .command("confirm-lost")
    .description("declare a cluster's instances permanently lost: they no longer vote, and may be replaced")
    .argument("<cluster>", CLUSTER)
    .argument("[name]", NAME)
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      examples([
        `${io.program} confirm-lost member3 xline`,
        "",
        "If the instances are still alive, the application may split in two. Make sure that they are not.",
      ]),
    );
  perform<ConfirmOptions>(registry, lost, async ([cluster = "", name], options) => {
    if (isJobName(name)) {
      const { runJobConfirmLost } = await import("../jobs/run.ts");
      return runJobConfirmLost(io, cluster, name, options);
    }
    const { runConfirmLost } = await import("./run.ts");
    return runConfirmLost(io, cluster, name, options);
  });

  const drain = program
    .command("confirm-drain")
    .description("allow the removal of the instances of a cluster that returned and is no longer wanted")
    .argument("<cluster>", CLUSTER)
    .argument("[name]", NAME)
    .option("--yes", "do not ask")
    .addHelpText("after", examples([`${io.program} confirm-drain member3 xline`]));
  perform<ConfirmOptions>(registry, drain, async ([cluster = "", name], options) => {
    const { runConfirmDrain } = await import("./run.ts");
    return runConfirmDrain(io, cluster, name, options);
  });
}
