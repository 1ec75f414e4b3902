import { isKubeObject, type KubeObject, UnknownKindError } from "../../../kube/index.ts";
import { CommandError } from "../../errors.ts";
import { type Hub, withHub } from "../../hub/hub.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { print } from "../../terminal/output.ts";
import { workloadsOf } from "../workload-option.ts";
import type { InstallOptions } from "./command.ts";
import { installManifests } from "./manifests.ts";
import { writeHost, writeHub } from "./write.ts";

const FIELD_MANAGER = "lockstep-install";
/** A CRD is served a moment after it was created. */
const ESTABLISH_MS = 10_000;
const LOOK_AGAIN_MS = 200;

export async function runInstall(io: Io, options: InstallOptions & GlobalOptions): Promise<undefined> {
  if (options.set === "host") return writeHost(io, options);
  if (options.set !== "hub") throw new CommandError(`--set '${options.set}' is not known; use hub or host`);
  const manifests = installManifests({
    systemNamespace: options.systemNamespace,
    workloads: workloadsOf(options.workload),
    standingHold: options.standingHold !== false,
    controllerUser: options.controllerUser,
    requireAllowedClusters: options.requireAllowedClusters,
  });
  if (!options.apply) return writeHub(io, options, manifests);
  return withHub(io, options, async (hub) => {
    for (const manifest of manifests) {
      if (!isKubeObject(manifest)) continue;
      await applyOne(hub, manifest);
      print(io, `${manifest.kind} ${manifest.metadata.name} applied`);
    }
    return undefined;
  });
}

async function applyOne(hub: Hub, manifest: KubeObject): Promise<void> {
  const { client, clock, request } = hub;
  const endMs = clock.monotonicMs() + ESTABLISH_MS;
  for (;;) {
    try {
      const resource = await client.discovery.resource(manifest.apiVersion, manifest.kind, request);
      await client.apply(resource, manifest, { ...request, fieldManager: FIELD_MANAGER, force: true });
      return;
    } catch (error) {
      // Waiting does not make Karmada's own kinds appear; our own do not matter here.
      if (!(error instanceof UnknownKindError) || clock.monotonicMs() >= endMs) throw error;
      if (manifest.apiVersion.includes("karmada.io")) {
        throw new CommandError(
          `this server does not know ${manifest.kind} of ${manifest.apiVersion}: it is not Karmada's API server. Use --context of the hub, or print the manifests and apply the ones that you need`,
        );
      }
      await clock.sleep(LOOK_AGAIN_MS);
    }
  }
}
