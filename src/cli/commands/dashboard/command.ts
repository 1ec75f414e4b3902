import { examples, perform, type Registry } from "../registry.ts";

export interface DashboardCommandOptions {
  readonly address: string;
  readonly readOnly?: boolean;
  readonly open?: boolean;
}

/** `lockstep dashboard`. */
export function registerDashboard(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("dashboard")
    .description("serve a page that explains every rollout, on this machine, with your own rights, until Ctrl-C")
    .option("--address <host:port>", "where to listen; loopback only", "127.0.0.1:0")
    .option("--read-only", "show everything, change nothing")
    .option("--no-open", "print the address and do not open a browser")
    .addHelpText("after", examples([`${io.program} dashboard`, `${io.program} dashboard --read-only --no-open`]));
  perform<DashboardCommandOptions>(registry, command, async (_, options) => {
    const { runDashboard } = await import("./run.ts");
    return runDashboard(io, options);
  });
}
