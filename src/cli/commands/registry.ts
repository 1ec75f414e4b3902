import type { Command, OptionValues } from "commander";
import type { GlobalOptions } from "../options.ts";
import type { Io } from "../terminal/io.ts";

export interface OutputOption {
  readonly output?: string;
}

/** What a command is registered with. `exitCode` is the process's exit code if nothing is thrown. */
export interface Registry {
  readonly program: Command;
  readonly io: Io;
  exitCode: number;
}

type Run<Options> = (args: readonly string[], options: Options & GlobalOptions) => Promise<number | undefined>;

/** Makes `run` the command's action. It imports what it needs when it runs, so that `--help` is fast. */
export function perform<Options extends OptionValues>(registry: Registry, command: Command, run: Run<Options>): void {
  command.action(async function action(this: Command) {
    registry.exitCode = (await run(this.args, this.optsWithGlobals<Options & GlobalOptions>())) ?? 0;
  });
}

/** For options that may be repeated; each takes one value, so that a name may follow it. */
export function repeated(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** Help that ends with examples to copy. */
export function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => (line === "" ? "" : `  ${line}`)).join("\n")}`;
}

export const NAME_ARGUMENT = "name of the CrossClusterStatefulset";

/** Where Lockstep's own objects are on the hub; `install` and `controller` must use the same value. */
export const SYSTEM_NAMESPACE_OPTION = [
  "--system-namespace <name>",
  "Lockstep's own namespace on the hub: account, lease, ledgers and revisions",
  "lockstep-system",
] as const;

/** Which kinds may be templates, in addition to StatefulSets; `install` and `controller` must use the same values. */
export const WORKLOAD_OPTION = [
  "--workload <plural.group>",
  "a custom workload that may be a template, such as xlineclusters.apps.my.io; may be repeated",
] as const;

/** Whether a namespace needs permission for every cluster; `install` and `controller` must use the same value. */
export const REQUIRE_ALLOWED_CLUSTERS_OPTION = [
  "--require-allowed-clusters",
  "refuse spec.topology in namespaces without the annotation lockstep.karmada.io/allowed-clusters",
] as const;
