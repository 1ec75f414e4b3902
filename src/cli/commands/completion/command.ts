import { examples, perform, type Registry } from "../registry.ts";

/** `lockstep completion`, and the hidden command that its scripts call back. */
export function registerCompletion(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("completion")
    .description("print the completion script of a shell; it completes commands, flags, objects and clusters")
    .argument("<shell>", "bash, zsh or fish")
    .addHelpText(
      "after",
      examples([
        `source <(${io.program} completion bash)`,
        `${io.program} completion fish > ~/.config/fish/completions/lockstep.fish`,
      ]),
    );
  perform(registry, command, async ([shell = ""]) => {
    const { runCompletion } = await import("./run.ts");
    return runCompletion(io, shell);
  });
  const callback = program
    .command("__complete", { hidden: true })
    .argument("[words...]")
    .allowUnknownOption()
    .helpOption(false);
  perform(registry, callback, async (words, options) => {
    const { complete } = await import("./run.ts");
    return complete(registry, words, options);
  });
}
