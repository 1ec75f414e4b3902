import type { Command } from "commander";
import { HELM_OPTION, KUSTOMIZE_OPTION, type ProgramOptions } from "../../applications/program-options.ts";
import { typedName } from "../../terminal/invocation.ts";

export interface UpArguments extends ProgramOptions {
  readonly clusters: string;
  readonly example: string;
  readonly dataDir?: string;
  readonly logLevel?: string;
}

/** `lockstep up`. */
export function registerUp(program: Command): void {
  const name = program.name();
  program
    .command("up")
    .description("a whole fleet on this machine: hub, member clusters, controller and an example, until Ctrl-C")
    .option("--clusters <n>", "member clusters, 1 to 50", "3")
    .option("--example <name>", "what is deployed at the start: statefulset, xline, etcd or none", "statefulset")
    .option("--data-dir <dir>", "keep all objects in this folder, and resume from there the next time")
    .option(...HELM_OPTION)
    .option(...KUSTOMIZE_OPTION)
    .option("--log-level <level>", "show the controller's log on standard error: debug, info, warn or error")
    .addHelpText(
      "after",
      `\nExamples:\n  ${name} up\n  ${name} up --clusters 5 --example xline\n  ${name} up --data-dir .lockstep/data`,
    )
    .action(async (options: UpArguments) => {
      const [{ runUp }, { styleOf }] = await Promise.all([import("./run.ts"), import("../../terminal/output.ts")]);
      const isTerminal = process.stdout.isTTY === true;
      const screen = {
        isTerminal,
        style: styleOf({ stdout: { isTerminal }, env: process.env }),
        write: (text: string) => void process.stdout.write(text),
      };
      const folder = process.cwd();
      const typed = typedName(name, process.argv[1], folder);
      const place = { folder, program: typed, screen, stop: stopSignal() };
      process.exitCode = await runUp(options, place);
    });
}

/** The first Ctrl-C stops cleanly; the second one at once. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      stop.abort(new Error(`stopped by ${signal}`));
      process.once(signal, () => process.exit(INTERRUPTED_EXIT_CODE));
    });
  }
  return stop.signal;
}

/** The exit code that shells show after Ctrl-C. */
const INTERRUPTED_EXIT_CODE = 130;
