import type { Command } from "commander";
import type { InterpretArguments } from "./run.ts";

/** `lockstep interpret` and `lockstep interpret test`. */
export function registerInterpret(program: Command): void {
  const interpret = program
    .command("interpret")
    .description(
      "evaluate one operation of a ResourceInterpreterCustomization offline and show what changed; without --operation, check that it compiles",
    )
    // Required, but checked by the action: commander would also require it for the subcommand.
    .option("-f, --filename <file>", "the customization (YAML; several documents or a List are accepted)")
    .option("--operation <operation>", "InterpretHealth, Retain ... or ExploreHealthy, ExploreRetaining ...")
    .option("--desired <file>", "the object as the hub wants it")
    .option("--observed <file>", "the object as a member cluster has it")
    .option("--status-items <file>", "for AggregateStatus: a list of {clusterName, status, applied, health}")
    .option("--replicas <n>", "for ReviseReplica")
    .option("-o, --output <format>", "text or json", "text")
    .action(async (options: InterpretArguments) => {
      const { evaluateCommand } = await import("./run.ts");
      process.exitCode = evaluateCommand(options, terminal);
    });
  interpret
    .command("test")
    .description("run Karmada-format test files next to their customizations.yaml, in a folder and below it")
    .argument("<dir>", "the folder")
    .action(async (folder: string) => {
      const { testCommand } = await import("./run.ts");
      process.exitCode = testCommand(folder, terminal);
    });
}

const terminal = {
  out: (line: string) => process.stdout.write(`${line}\n`),
  error: (line: string) => process.stderr.write(`${line}\n`),
};
