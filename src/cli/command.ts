import type { Command, OptionValues } from "commander";
import type { Io } from "./io.ts";

/** On every command. Declared once, on the program: commander takes them before and after the command's name. */
export interface GlobalOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly requestTimeout?: string;
  readonly debug?: boolean;
}

export interface OutputOption {
  readonly output?: string;
}

/** What a command is registered with. `exitCode` is what the process ends with if nothing is thrown. */
export interface Registry {
  readonly program: Command;
  readonly io: Io;
  exitCode: number;
}

type Run<Options> = (args: readonly string[], options: Options & GlobalOptions) => Promise<number | undefined>;

/** Makes `run` the command's action. It imports what it needs when it runs, so that `--help` stays quick. */
export function perform<Options extends OptionValues>(registry: Registry, command: Command, run: Run<Options>): void {
  command.action(async function action(this: Command) {
    registry.exitCode = (await run(this.args, this.optsWithGlobals<Options & GlobalOptions>())) ?? 0;
  });
}

/** For options that may be given several times; each takes one value, so that a name may follow it. */
export function repeated(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/** Help that ends with examples, as people copy them. */
export function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => (line === "" ? "" : `  ${line}`)).join("\n")}`;
}

export const NAME_ARGUMENT = "name of the CrossClusterStatefulset";
