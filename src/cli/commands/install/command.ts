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

export interface InstallOptions {
  readonly apply?: boolean;
  readonly systemNamespace: string;
  readonly engine?: string;
  readonly standingHold?: boolean;
  readonly workload?: string[];
  readonly distribute?: string[];
  readonly divide?: string[];
  readonly controllerUser?: string;
  readonly executor?: string;
  readonly requireAllowedClusters?: boolean;
  readonly set: string;
  readonly format: string;
  readonly output?: string;
  readonly image?: string;
  readonly kubeconfigSecret?: string;
  readonly hubKubeconfig?: string;
  readonly hubServer?: string;
  readonly tokenDuration: string;
  readonly applications?: boolean;
}

/** `lockstep install`. */
export function registerInstall(registry: Registry): void {
  const { program, io } = registry;
  const command = program
    .command("install")
    .description(
      "print the hub's manifests (CRDs, rights, roles for people, policies, the standing hold), or apply them; with --set host, those that run the controller",
    )
    .option("--apply", "apply them to the hub of the context, instead of printing them")
    .option(...ENGINE_OPTION)
    .option(...SYSTEM_NAMESPACE_OPTION)
    .option(...WORKLOAD_OPTION, repeated)
    .option(
      "--distribute <plural.group>",
      "a custom kind that DistributedApplications may bring to members, beside Kubernetes' own; secrets: to read those, too; '*': all; may be repeated",
      repeated,
    )
    .option(
      "--divide <plural.group>",
      "Karmada: a kind, such as deployments.apps, whose replicas its scheduler may divide (by: Scheduler); the controller may then write it on the hub; may be repeated",
      repeated,
    )
    .option("--controller-user <name>", "the hub's user that the controller authenticates as (default: its account)")
    .option(
      "--executor <namespace/name>",
      "Open Cluster Management: the account in each cluster that agents apply Lockstep's objects as; --apply creates it there",
    )
    .option(...REQUIRE_ALLOWED_CLUSTERS_OPTION)
    .option("--no-standing-hold", "omit the hold for templates labelled lockstep.karmada.io/managed=true")
    .option(
      "--set <name>",
      "hub: what the hub needs; host: what runs the controller in a host cluster; kubeconfig: with which the controller reaches the hub, with a new token of its account",
      "hub",
    )
    .option("--format <name>", "yaml, helm or kustomize", "yaml")
    .option("--output <folder>", "write files there instead of printing")
    .option("--image <reference>", "host: the controller's image (default: lockstep:VERSION)")
    .option(
      "--kubeconfig-secret <name>",
      "host: the Secret whose key 'kubeconfig' reaches the hub (default: lockstep-hub-kubeconfig)",
    )
    .option(
      "--hub-kubeconfig <file>",
      "host: write that Secret, too, with this kubeconfig of the controller's account (default: you create it)",
    )
    .option(
      "--hub-server <url>",
      "kubeconfig: where the controller's pods find the hub (default: the context's server)",
    )
    .option(
      "--token-duration <time>",
      "kubeconfig: how long the token is to be valid; the hub may decide less",
      "8760h",
    )
    .option(
      "--applications",
      "host: the image has helm and kustomize (docker build --target applications): render charts and kustomizations",
    )
    .addHelpText(
      "after",
      examples([
        `${io.program} install | kubectl apply -f -`,
        `${io.program} install --apply`,
        `${io.program} install --engine ocm --workload xlineclusters.apps.my.io --apply`,
        "",
        "Without --engine, 'install --apply' installs for the engine that the hub serves, and 'install' prints for Karmada.",
        `${io.program} install --set host --image registry.example.com/lockstep:0.1.0 | kubectl --context host apply -f -`,
        `${io.program} install --set kubeconfig > hub.kubeconfig`,
        `${io.program} install --set host --hub-kubeconfig hub.kubeconfig | kubectl --context host apply -f -`,
        `${io.program} install --set host --format helm --output charts/lockstep-controller`,
      ]),
    );
  perform<InstallOptions>(registry, command, async (_, options) => {
    const { runInstall } = await import("./run.ts");
    return runInstall(io, options);
  });
}
