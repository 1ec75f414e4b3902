import { examples, perform, type Registry, SYSTEM_NAMESPACE_OPTION } from "../registry.ts";

export interface GcOptions {
  readonly yes?: boolean;
  readonly systemNamespace: string;
}

/** `lockstep gc`: what is left of objects that are gone. */
export function registerGc(registry: Registry): void {
  const { program, io } = registry;
  const gc = program
    .command("gc")
    .description("list what objects that are gone have left on the hub and in members; --yes deletes it")
    .option("--yes", "delete what can be deleted safely; without it, nothing is changed")
    .option(...SYSTEM_NAMESPACE_OPTION)
    .addHelpText(
      "after",
      examples([
        `${io.program} gc`,
        `${io.program} gc --yes`,
        "",
        "Members that are not Ready are not looked at. Works and ManifestWorks are listed, and never deleted: that would",
        "delete what they delivered. A hold is deleted only if its template is gone: otherwise Karmada would render it to",
        "all its clusters at once. Topologies in members are listed, and never deleted: what was released may read them.",
      ]),
    );
  perform<GcOptions>(registry, gc, async (_args, options) => {
    const { runGc } = await import("./run.ts");
    return runGc(io, options);
  });
}
