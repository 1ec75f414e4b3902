import { examples, NAME_ARGUMENT, perform, type Registry } from "../registry.ts";

export interface UndoOptions {
  readonly toRevision?: string;
  readonly yes?: boolean;
}

/** `lockstep undo`. */
export function registerUndo(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("undo")
    .description("return to an earlier revision, in order, and stay there until the template itself is edited")
    .argument("<name>", NAME_ARGUMENT)
    .option("--to-revision <revision>", "its name or number from the history (default: the last that completed before)")
    .addHelpText("after", examples([`${io.program} undo xline`, `${io.program} undo xline --to-revision 3`]));
  perform<UndoOptions>(registry, command, async ([name = ""], options) => {
    const { runUndo } = await import("./run.ts");
    return runUndo(io, name, options);
  });
}
