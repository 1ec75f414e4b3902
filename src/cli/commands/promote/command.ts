import { examples, NAME_ARGUMENT, perform, type Registry } from "../registry.ts";

export interface PromoteOptions {
  readonly yes?: boolean;
  readonly revision?: string;
  /** Only of promote. */
  readonly wave?: string;
}

const REVISION = "the expected revision that the rollout goes to; refused if it goes to another one";

/** `lockstep promote` and `lockstep abort`: a user's decision about the rollout in progress. */
export function registerPromote(registry: Registry): void {
  const { program, io } = registry;
  const promote = program
    .command("promote")
    .description("let the rollout continue past the soak, or outside the maintenance windows, that it waits for")
    .argument("<name>", NAME_ARGUMENT)
    .option("--revision <name>", REVISION)
    .option("--wave <n>", "the expected wave, counted from 1; refused if the rollout is at another one")
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      examples([
        `${io.program} promote xline`,
        "",
        "It counts only for this rollout. It approves nothing; quorum, budget, pause and failures still apply.",
      ]),
    );
  perform<PromoteOptions>(registry, promote, async ([name = ""], options) => {
    const { promote: run } = await import("./run.ts");
    return run(io, name, options);
  });

  const abort = program
    .command("abort")
    .description("abort the rollout in progress: return to the revision that it started from, in order")
    .argument("<name>", NAME_ARGUMENT)
    .option("--revision <name>", REVISION)
    .option("--yes", "do not ask")
    .addHelpText("after", examples([`${io.program} abort xline`]));
  perform<PromoteOptions>(registry, abort, async ([name = ""], options) => {
    const { abort: run } = await import("./run.ts");
    return run(io, name, options);
  });
}
