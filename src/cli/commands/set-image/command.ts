import { examples, NAME_ARGUMENT, perform, type Registry } from "../registry.ts";

/** `lockstep set-image`. */
export function registerSetImage(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("set-image")
    .description(
      "change container images of an inline template (spec.template), as 'kubectl set image' does for an object",
    )
    .argument("<name>", NAME_ARGUMENT)
    .argument("<container=image...>", "the container and its new image; * stands for all containers")
    .addHelpText(
      "after",
      examples([
        `${io.program} set-image web web=example.com/web:2`,
        `${io.program} set-image web '*=example.com/web:2'`,
      ]),
    );
  perform(registry, command, async ([name = "", ...images], options) => {
    const { runSetImage } = await import("./run.ts");
    return runSetImage(io, name, images, options);
  });
}
