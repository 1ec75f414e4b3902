import { typedName } from "../../terminal/invocation.ts";
import { examples, perform, type Registry } from "../registry.ts";

export interface LoseClusterOptions {
  readonly mend?: boolean;
}

/** `lockstep demo update|scale|lose-cluster`: plays a scenario on a running `lockstep up`, and shows it. */
export function registerDemo(registry: Registry): void {
  const { program, io } = registry;
  // Errors name commands as this one was typed.
  const here = () => ({ ...io, program: typedName(io.program, process.argv[1], process.cwd()) });
  const demo = program
    .command("demo")
    .description("play a scenario on a running 'up', in a second terminal, and show every step")
    .addHelpText(
      "after",
      examples([`${io.program} demo update`, `${io.program} demo scale`, `${io.program} demo lose-cluster`]),
    );
  const update = demo
    .command("update")
    .description("change the example's image: cluster after cluster, never more instances down than allowed");
  const scale = demo.command("scale").description("grow by two instances without renumbering, and shrink back");
  const lose = demo
    .command("lose-cluster")
    .description("disconnect a cluster, update the others within quorum, reconnect it and see it catch up")
    .option("--mend", "only reconnect clusters that a killed demo left disconnected");
  perform(registry, update, async (_, options) => (await import("./run.ts")).runDemo(here(), "update", options));
  perform(registry, scale, async (_, options) => (await import("./run.ts")).runDemo(here(), "scale", options));
  perform<LoseClusterOptions>(registry, lose, async (_, options) => {
    const { mendAll, runDemo } = await import("./run.ts");
    return options.mend ? mendAll(here(), options) : runDemo(here(), "lose-cluster", options);
  });
}
