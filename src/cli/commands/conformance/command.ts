import { examples, perform, type Registry } from "../registry.ts";

export interface ConformanceArguments {
  readonly filename?: string;
  readonly address: string;
  readonly stepTimeout: string;
  readonly quiet: string;
}

/** `lockstep conformance`. */
export function registerConformance(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("conformance")
    .description("check an operator against the member contract: it acts for Lockstep on one object, in one member")
    .requiredOption("-f, --filename <file>", "an object of the operator's kind, as YAML; its name must be free")
    .option("--address <template>", "an instance's address, with {instance} and {ordinal}", "{instance}")
    .option("--step-timeout <duration>", "how long the operator may take for one grant", "60s")
    .option("--quiet <duration>", "how long the operator must do nothing to count as waiting", "5s")
    .addHelpText(
      "after",
      examples([
        `${io.program} conformance --context member1 -f object.yaml`,
        "",
        "--context must name a member in which the operator runs, not the hub. The object and its pods are deleted at the end.",
        "Exit code: 0 when no rule is broken, 1 otherwise.",
      ]),
    );
  perform<ConformanceArguments>(registry, command, async (_, options) => {
    const { runConformance } = await import("./run.ts");
    return runConformance(io, options);
  });
}
