import { Command, CommanderError } from "commander";
import { version } from "../../package.json";
import { registerCommands } from "./commands/index.ts";
import { examples, type Registry } from "./commands/registry.ts";
import { CommandError, explain } from "./errors.ts";
import type { Io } from "./terminal/io.ts";

/** The whole command line. Cheap to build: a command's implementation is loaded when it runs. */
export function createProgram(io: Io): Registry {
  const program = new Command(io.program)
    .description("One stateful application over several Kubernetes clusters, in one global order.")
    .option(
      "--kubeconfig <file>",
      "the kubeconfig of the hub (default: $KUBECONFIG, a fleet of 'up' in this folder, ~/.kube/config)",
    )
    .option("--context <name>", "the context of the kubeconfig (default: the current one)")
    .option("-n, --namespace <name>", "the namespace (default: the context's)")
    .option("--request-timeout <duration>", "how long one request may take, such as 10s or 1m")
    .option("--debug", "show stack traces of errors")
    .version(version, "--version", "print the version")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns,
      getErrHelpWidth: () => io.stderr.columns,
    })
    .showHelpAfterError(`Run '${io.program} --help' for usage.`)
    .addHelpText(
      "after",
      examples([
        `${io.program} up                       try it on this machine`,
        `${io.program} status web -w            watch an application`,
        `${io.program} why web                  what it waits for, the evidence, what to do`,
        `${io.program} plan -f web.yaml         what a change would do`,
        "",
        `'${io.program} COMMAND --help' has examples of each.`,
      ]),
    )
    .exitOverride();
  const registry: Registry = { program, io, exitCode: 0 };

  registerCommands(registry);
  for (const command of program.commands) hintAt(command, io.program);
  return registry;
}

/** A mistyped word is looked up among the commands where it was typed. */
function hintAt(command: Command, path: string): void {
  const typed = `${path} ${command.name()}`;
  command.showHelpAfterError(`Run '${typed} --help' for usage.`);
  for (const below of command.commands) hintAt(below, typed);
}

/** Runs one command line and returns the exit code. */
export async function runCli(args: readonly string[], io: Io): Promise<number> {
  const registry = createProgram(io);
  try {
    if (args.length === 0) {
      registry.program.outputHelp();
      return 0;
    }
    await registry.program.parseAsync([...args], { from: "user" });
    return registry.exitCode;
  } catch (error) {
    // Commander has already printed it.
    if (error instanceof CommanderError) return error.exitCode;
    const debug = args.includes("--debug") && error instanceof Error;
    io.stderr.write(debug ? `${error.stack ?? error.message}\n` : `error: ${explain(error)}\n`);
    return error instanceof CommandError ? error.exitCode : 1;
  }
}
