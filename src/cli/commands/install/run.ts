import type { EngineName, Workload } from "../../../api/index.ts";
import { type EngineDefinition, type Executor, readExecutor } from "../../../engine/index.ts";
import { isKubeObject, type KubeObject, UnknownKindError } from "../../../kube/index.ts";
import { CommandError } from "../../errors.ts";
import { engineOf, namedEngine } from "../../hub/engine.ts";
import { type Hub, withHub } from "../../hub/hub.ts";
import type { GlobalOptions } from "../../options.ts";
import { durationOption } from "../../terminal/duration-option.ts";
import type { Io } from "../../terminal/io.ts";
import { print } from "../../terminal/output.ts";
import { workloadsOf } from "../workload-option.ts";
import { accountKubeconfig } from "./account-kubeconfig.ts";
import type { InstallOptions } from "./command.ts";
import { type Distributed, distributedOf } from "./distributed.ts";
import { installManifests } from "./manifests.ts";
import { executorWork, memberRightsWork } from "./ocm.ts";
import { writeHost, writeHub } from "./write.ts";

const FIELD_MANAGER = "lockstep-install";
/** A CRD is served a moment after it was created. */
const ESTABLISH_MS = 10_000;
const LOOK_AGAIN_MS = 200;

export async function runInstall(io: Io, options: InstallOptions & GlobalOptions): Promise<undefined> {
  if (options.set === "host") return writeHost(io, options);
  if (options.set === "kubeconfig") return printKubeconfig(io, options);
  if (options.set !== "hub") throw new CommandError(`--set '${options.set}' is not known; use hub, host or kubeconfig`);
  const named = options.engine === undefined ? undefined : namedEngine(options.engine);
  const workloads = workloadsOf(options.workload);
  const executor = executorOption(options.executor);
  const distributed = distributedOf(options.distribute);
  const divided = workloadsOf(options.divide, "--divide");
  const manifestsFor = (engine: EngineName) =>
    installManifests({
      systemNamespace: options.systemNamespace,
      engine,
      workloads,
      distributed,
      divided,
      standingHold: options.standingHold !== false,
      controllerUser: options.controllerUser,
      executor,
      requireAllowedClusters: options.requireAllowedClusters,
    });
  if (!options.apply) return writeHub(io, options, manifestsFor(named?.name ?? "karmada"));
  return withHub(io, options, async (hub) => {
    const engine = named ?? (await engineOf(hub));
    if (executor && engine.name !== "ocm") {
      throw new CommandError("--executor is for hubs of Open Cluster Management; Karmada has no such account");
    }
    const manifests = manifestsFor(engine.name);
    for (const manifest of [...manifests, ...(await memberRights(hub, engine, workloads, distributed, executor))]) {
      if (!isKubeObject(manifest)) continue;
      await applyOne(hub, engine, manifest);
      const { name, namespace } = manifest.metadata;
      const where = manifest.kind === "ManifestWork" ? ` for cluster ${namespace}` : "";
      print(io, `${manifest.kind} ${name}${where} applied`);
    }
    return undefined;
  });
}

/** To standard output only, as 'kubectl create token' does: where a secret is kept is for its user to decide. */
async function printKubeconfig(io: Io, options: InstallOptions & GlobalOptions): Promise<undefined> {
  if (options.apply || options.output !== undefined) {
    throw new CommandError(
      "--set kubeconfig is only printed: redirect it to a file, and give that to --hub-kubeconfig",
    );
  }
  const { systemNamespace, hubServer: server } = options;
  const seconds = Math.round(durationOption("--token-duration", options.tokenDuration) / 1000);
  const { kubeconfig, ends } = await withHub(io, options, (hub) =>
    accountKubeconfig(hub, { systemNamespace, seconds, server }),
  );
  print(io, kubeconfig);
  io.stderr.write(`its token ends at ${ends}: renew the Secret before then\n`);
  return undefined;
}

/**
 * Rights in the members of Open Cluster Management, and the account that agents act as: ManifestWorks carry them to each
 * cluster.
 */
async function memberRights(
  hub: Hub,
  engine: EngineDefinition,
  workloads: readonly Workload[],
  distributed: Distributed,
  executor: Executor | undefined,
) {
  if (engine.name !== "ocm") return [];
  const { items } = await hub.client.listAll(engine.clusters, hub.request);
  return items.flatMap(({ metadata: { name } }) => [
    memberRightsWork(name, workloads, distributed),
    ...(executor ? [executorWork(name, executor, workloads, distributed)] : []),
  ]);
}

function executorOption(text: string | undefined): Executor | undefined {
  const executor = readExecutor(text);
  if (text === undefined || executor) return executor;
  throw new CommandError(
    `--executor '${text}': give NAMESPACE/NAME of a service account, such as lockstep-system/lockstep`,
  );
}

async function applyOne(hub: Hub, engine: EngineDefinition, manifest: KubeObject): Promise<void> {
  const { client, clock, request } = hub;
  const endMs = clock.monotonicMs() + ESTABLISH_MS;
  for (;;) {
    try {
      const resource = await client.discovery.resource(manifest.apiVersion, manifest.kind, request);
      await client.apply(resource, manifest, { ...request, fieldManager: FIELD_MANAGER, force: true });
      return;
    } catch (error) {
      // Waiting does not make the engine's own kinds appear; our own do not matter here.
      if (!(error instanceof UnknownKindError) || clock.monotonicMs() >= endMs) throw error;
      if (/karmada\.io|open-cluster-management\.io/.test(manifest.apiVersion)) {
        throw new CommandError(
          `this server does not know ${manifest.kind} of ${manifest.apiVersion}: it is no hub of ${engine.title}. Use --context of the hub, or print the manifests and apply the ones that you need`,
        );
      }
      await clock.sleep(LOOK_AGAIN_MS);
    }
  }
}
