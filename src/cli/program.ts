import { Command, CommanderError } from "commander";
import { version } from "../../package.json";
import { registerApprove } from "./approve.ts";
import { examples, type Registry } from "./command.ts";
import { registerCompletion } from "./completion.ts";
import { registerConfirm } from "./confirm.ts";
import { registerController } from "./controller.ts";
import { registerDemo } from "./demo.ts";
import { registerDoctor } from "./doctor.ts";
import { CommandError, explain } from "./errors.ts";
import { registerHistory } from "./history.ts";
import { registerInstall } from "./install.ts";
import { registerInterpret } from "./interpret.ts";
import type { Io } from "./io.ts";
import { registerPause } from "./pause.ts";
import { registerPlan } from "./plan.ts";
import { registerRender } from "./render.ts";
import { registerRestart } from "./restart.ts";
import { registerResume } from "./resume.ts";
import { registerScale } from "./scale.ts";
import { registerSimulate } from "./simulate.ts";
import { registerStatus } from "./status.ts";
import { registerUndo } from "./undo.ts";
import { registerUp } from "./up.ts";
import { registerWhy } from "./why.ts";

/** The whole command line. Cheap to build: what a command does is loaded when it runs. */
export function createProgram(io: Io): Registry {
  const program = new Command(io.program)
    .description("One stateful application over several Kubernetes clusters, in one global order.")
    .option("--kubeconfig <file>", "the kubeconfig of the hub (default: $KUBECONFIG, then ~/.kube/config)")
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
    .showHelpAfterError(`Run '${io.program} --help' to see what can be said.`)
    .addHelpText(
      "after",
      examples([
        `${io.program} up                       try it on this machine`,
        `${io.program} status web -w            watch an application`,
        `${io.program} why web                  what it waits for, what proves it, what to do`,
        `${io.program} plan -f web.yaml         what a change would do, before it does`,
        "",
        `'${io.program} COMMAND --help' has examples of each.`,
      ]),
    )
    .exitOverride();
  const registry: Registry = { program, io, exitCode: 0 };

  program.commandsGroup("Try:");
  registerUp(program);
  registerDemo(registry);
  program.commandsGroup("Look:");
  registerStatus(registry);
  registerWhy(registry);
  registerPlan(registry);
  registerHistory(registry);
  registerRender(registry);
  program.commandsGroup("Act:");
  registerUndo(registry);
  registerRestart(registry);
  registerPause(registry);
  registerResume(registry);
  registerApprove(registry);
  registerScale(registry);
  registerConfirm(registry);
  program.commandsGroup("Set up and run:");
  registerInstall(registry);
  registerDoctor(registry);
  registerController(registry);
  program.commandsGroup("Develop:");
  registerInterpret(program);
  registerSimulate(program);
  registerCompletion(registry);
  for (const command of program.commands) hintAt(command, io.program);
  return registry;
}

/** What was typed wrong is looked up where it was typed. */
function hintAt(command: Command, path: string): void {
  const typed = `${path} ${command.name()}`;
  command.showHelpAfterError(`Run '${typed} --help' to see what can be said.`);
  for (const below of command.commands) hintAt(below, typed);
}

/** Runs one command line and answers with the exit code. */
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
    // Commander has said it already.
    if (error instanceof CommanderError) return error.exitCode;
    const debug = args.includes("--debug") && error instanceof Error;
    io.stderr.write(debug ? `${error.stack ?? error.message}\n` : `error: ${explain(error)}\n`);
    return error instanceof CommandError ? error.exitCode : 1;
  }
}
