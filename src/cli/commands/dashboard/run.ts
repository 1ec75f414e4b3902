import { spawn } from "node:child_process";
import { serveDashboard } from "../../dashboard/serve.ts";
import { kubeconfigOf, withHub } from "../../hub/hub.ts";
import { whoAmI } from "../../hub/whoami.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { jsonLog } from "../../terminal/log.ts";
import { print } from "../../terminal/output.ts";
import type { DashboardCommandOptions } from "./command.ts";

export async function runDashboard(io: Io, options: DashboardCommandOptions & GlobalOptions): Promise<number> {
  const [clock, random] = await Promise.all([io.clock(), io.random()]);
  // Before a page is served: a wrong kubeconfig is reported here, where the user is.
  const user = await withHub(io, options, (hub) => whoAmI(hub));
  const signal = io.interrupted();
  const dashboard = await serveDashboard({
    clock,
    random,
    log: jsonLog((line) => io.stderr.write(line), clock, "warn"),
    program: io.program,
    kubeconfig: kubeconfigOf(io, options),
    context: options.context,
    readOnly: options.readOnly === true,
    address: options.address,
  });
  try {
    const link = dashboard.ownLink();
    print(io, `Dashboard: ${link}`);
    print(
      io,
      `The link signs one browser in${user === undefined ? "" : ` as ${user}`}, once. Ctrl-C stops the dashboard.`,
    );
    if (options.open !== false && io.stdout.isTerminal) openBrowser(link);
    await aborted(signal);
    return 0;
  } finally {
    await dashboard.close();
  }
}

/** Best effort: the address is printed in any case. */
function openBrowser(link: string): void {
  const [command, args] =
    process.platform === "darwin"
      ? ["open", [link]]
      : process.platform === "win32"
        ? ["explorer.exe", [link]]
        : ["xdg-open", [link]];
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
