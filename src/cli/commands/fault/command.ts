import { typedName } from "../../terminal/invocation.ts";
import { examples, NAME_ARGUMENT, perform, type Registry } from "../registry.ts";

export interface FaultImageOptions {
  readonly missing?: boolean;
}

/** `lockstep fault`: breaks things on a running `lockstep up`, and repairs them. */
export function registerFault(registry: Registry): void {
  const { program, io } = registry;
  const here = () => ({ ...io, program: typedName(io.program, process.argv[1], process.cwd()) });
  const run = () => import("./run.ts");
  const fault = program
    .command("fault")
    .description("break an image or a cluster of a running 'up', and repair it; never on a real hub")
    .addHelpText(
      "after",
      examples([
        `${io.program} fault image web      its next revision crashes: see '${io.program} why web'`,
        `${io.program} fault cut member3    the hub can no longer reach it`,
        `${io.program} fault list           what is broken`,
        `${io.program} fault heal           repair everything`,
      ]),
    );
  const image = fault
    .command("image")
    .description("set an image that crashes in the template, as an edit of yours would")
    .argument("<name>", NAME_ARGUMENT)
    .option("--missing", "use an image that cannot be pulled instead");
  const cut = fault
    .command("cut")
    .description("disconnect a cluster from the hub; its instances keep running")
    .argument("<cluster>", "name of the member cluster");
  const heal = fault
    .command("heal")
    .description("reconnect one cluster; without a name, reconnect all and restore images")
    .argument("[cluster]", "name of the member cluster");
  const list = fault.command("list").description("show what is broken now");
  perform<FaultImageOptions>(registry, image, async ([name = ""], options) =>
    (await run()).faultImage(here(), name, options),
  );
  perform(registry, cut, async ([cluster = ""], options) => (await run()).faultCut(here(), cluster, options));
  perform(registry, heal, async ([cluster], options) => (await run()).faultHeal(here(), cluster, options));
  perform(registry, list, async (_, options) => (await run()).faultList(here(), options));
}
