import { examples, perform, type Registry } from "./command.ts";

export interface ControllerOptions {
  readonly engine: string;
  readonly leaseNamespace: string;
  readonly concurrency?: string;
  readonly logLevel: string;
  readonly identity?: string;
}

/** `lockstep controller`. */
export function registerController(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("controller")
    .description("run the controller: leader-elected, JSON log lines on standard output, until SIGTERM")
    .option("--engine <name>", "the hub's engine: karmada", "karmada")
    .option("--lease-namespace <name>", "where the leader's lease is", "karmada-system")
    .option("--concurrency <n>", "CrossClusterStatefulsets worked on at a time")
    .option("--log-level <level>", "debug, info, warn or error", "info")
    .option("--identity <name>", "who holds the lease, for people (default: the host's name)")
    .addHelpText("after", examples([`${io.program} controller --kubeconfig /etc/lockstep/hub.kubeconfig`]));
  perform<ControllerOptions>(registry, command, async (_, options) => {
    const { runController } = await import("./controller-run.ts");
    return runController(io, options);
  });
}
