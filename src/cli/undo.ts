import { examples, NAME_ARGUMENT, perform, type Registry } from "./command.ts";

export interface UndoOptions {
  readonly toRevision?: string;
  readonly yes?: boolean;
}

/** `lockstep undo`. */
export function registerUndo(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("undo")
    .description("go back to an earlier revision, in order, and stay there until the template changes")
    .argument("<name>", NAME_ARGUMENT)
    .option("--to-revision <revision>", "its name or number from the history (default: the one before)")
    .addHelpText("after", examples([`${io.program} undo xline`, `${io.program} undo xline --to-revision 3`]));
  perform<UndoOptions>(registry, command, async ([name = ""], options) => {
    const { undo } = await import("./changes.ts");
    return undo(io, name, options);
  });
}
