import { isJobName } from "../../terminal/kind-name.ts";
import { examples, NAME_ARGUMENT, perform, type Registry } from "../registry.ts";

export interface WaitOptions {
  readonly for: string;
  readonly timeout: string;
}

/** `lockstep wait`. */
export function registerWait(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("wait")
    .description("wait until a change is complete; never uses a status from before the last edit")
    .argument("<name>", NAME_ARGUMENT)
    .option(
      "--for <goal>",
      "settled: nothing is left to do; revision: every instance runs the template's revision; ready: every instance is ready",
      "settled",
    )
    .option("--timeout <duration>", "give up after this, such as 90s or 10m; 0 checks once", "10m")
    .addHelpText(
      "after",
      examples([
        `kubectl set image statefulset/web web=example.com/web:2.0 && ${io.program} wait web --for revision`,
        `${io.program} wait web --timeout 30m || ${io.program} why web`,
        "",
        "Exit code: 0 when the goal is reached, 1 otherwise, with the reason and the remedy on standard error.",
      ]),
    );
  perform<WaitOptions>(registry, command, async ([name = ""], options) => {
    if (isJobName(name)) {
      const { runJobWait } = await import("../jobs/run.ts");
      return runJobWait(io, name, options);
    }
    const { runWait } = await import("./run.ts");
    return runWait(io, name, options);
  });
}
