import { stringify } from "yaml";
import { isKubeObject, type KubeObject, UnknownKindError } from "../kube/index.ts";
import type { GlobalOptions } from "./command.ts";
import { CommandError } from "./errors.ts";
import { type Hub, withHub } from "./hub.ts";
import type { InstallOptions } from "./install.ts";
import { installManifests } from "./install-manifests.ts";
import type { Io } from "./io.ts";
import { print } from "./output.ts";

const FIELD_MANAGER = "lockstep-install";
/** A CRD is served a moment after it was created. */
const ESTABLISH_MS = 10_000;
const LOOK_AGAIN_MS = 200;

export async function runInstall(io: Io, options: InstallOptions & GlobalOptions): Promise<undefined> {
  const manifests = installManifests({
    leaseNamespace: options.leaseNamespace,
    workloads: (options.workload ?? []).map(readWorkload),
    standingHold: options.standingHold !== false,
  });
  if (!options.apply) {
    print(
      io,
      manifests.map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false })).join("---\n"),
    );
    return undefined;
  }
  return withHub(io, options, async (hub) => {
    for (const manifest of manifests) {
      if (!isKubeObject(manifest)) continue;
      await applyOne(hub, manifest);
      print(io, `${manifest.kind} ${manifest.metadata.name} applied`);
    }
    return undefined;
  });
}

export function readWorkload(text: string): { plural: string; group: string } {
  const dot = text.indexOf(".");
  if (dot > 0 && dot < text.length - 1) return { plural: text.slice(0, dot), group: text.slice(dot + 1) };
  throw new CommandError(`--workload '${text}': give PLURAL.GROUP, such as xlineclusters.apps.my.io`);
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
      // Karmada's own kinds never appear by waiting; our own do not matter here.
      if (!(error instanceof UnknownKindError) || clock.monotonicMs() >= endMs) throw error;
      if (manifest.apiVersion.includes("karmada.io")) {
        throw new CommandError(
          `this server does not know ${manifest.kind} of ${manifest.apiVersion}: it is not Karmada's API server. Use --context of the hub, or print the manifests and apply those that fit`,
        );
      }
      await clock.sleep(LOOK_AGAIN_MS);
    }
  }
}
