import { HELM_OPTION, KUSTOMIZE_OPTION, type ProgramOptions } from "../../applications/program-options.ts";
import { ENGINE_OPTION } from "../../hub/engine-option.ts";
import {
  examples,
  perform,
  REQUIRE_ALLOWED_CLUSTERS_OPTION,
  type Registry,
  repeated,
  SYSTEM_NAMESPACE_OPTION,
  WORKLOAD_OPTION,
} from "../registry.ts";

export interface ControllerOptions extends ProgramOptions {
  readonly engine?: string;
  readonly systemNamespace: string;
  readonly workload?: string[];
  readonly requireAllowedClusters?: boolean;
  readonly concurrency?: string;
  readonly maxStreams?: string;
  readonly logLevel: string;
  readonly identity?: string;
  readonly uniqueIdentity?: boolean;
  readonly metrics?: string;
  readonly dashboard?: string;
  readonly dashboardReadOnly?: boolean;
}

/** `lockstep controller`. */
export function registerController(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("controller")
    .description("run the controller: leader-elected, JSON log lines on standard output, until SIGTERM")
    .option(...ENGINE_OPTION)
    .option(...SYSTEM_NAMESPACE_OPTION)
    .option(...WORKLOAD_OPTION, repeated)
    .option(...REQUIRE_ALLOWED_CLUSTERS_OPTION)
    .option(...HELM_OPTION)
    .option(...KUSTOMIZE_OPTION)
    .option("--concurrency <n>", "CrossClusterStatefulsets reconciled at a time")
    .option("--max-streams <n>", "open watches, over the hub and all clusters (default: 1024)")
    .option("--log-level <level>", "debug, info, warn or error", "info")
    .option("--identity <name>", "name of the lease holder, for users (default: the host name)")
    .option(
      "--unique-identity",
      "no other process has this identity at the same time, as with a pod's name: after a restart, take the lease at once",
    )
    .option("--metrics <host:port>", "serve /metrics, /healthz and /readyz there, such as 0.0.0.0:8080")
    .option("--dashboard <host:port>", "serve the dashboard there; viewers sign in with their own tokens")
    .option("--dashboard-read-only", "the dashboard changes nothing, whatever a viewer may do")
    .addHelpText("after", examples([`${io.program} controller --kubeconfig /etc/lockstep/hub.kubeconfig`]));
  perform<ControllerOptions>(registry, command, async (_, options) => {
    const { runController } = await import("./run.ts");
    return runController(io, options);
  });
}
