import { type EngineDefinition, OVERRIDE_POLICIES, unprotectedHold } from "../../../engine/index.ts";
import { ConflictError, ForbiddenError, type KubeClient, NotFoundError } from "../../../kube/index.ts";
import { engineOf } from "../../hub/engine.ts";
import { type Hub, withHub } from "../../hub/hub.ts";
import { withMember } from "../../hub/members.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { print, table } from "../../terminal/output.ts";
import type { GcOptions } from "./command.ts";
import { findOrphans, isStillOrphan } from "./orphans.ts";
import type { Orphan } from "./owners.ts";

/** A dry run unless `--yes` is given. */
export function runGc(io: Io, options: GcOptions & GlobalOptions): Promise<undefined> {
  return withHub(io, options, async (hub) => {
    const engine = await engineOf(hub);
    const { found, unseen } = await findOrphans(hub, engine, options.systemNamespace);
    const rows = found.map(({ where, object, why, kept }) => [
      where,
      `${object.kind} ${[object.metadata.namespace, object.metadata.name].filter(Boolean).join("/")}`,
      kept === undefined ? why : `${why}; kept: ${kept}`,
    ]);
    print(io, found.length === 0 ? "nothing is left of objects that are gone" : "");
    if (found.length > 0) print(io, table(["WHERE", "OBJECT", "WHY"], rows).join("\n"));
    for (const { cluster, why } of unseen) print(io, `not looked at: ${cluster} (${why})`);
    const due = found.filter(({ kept }) => kept === undefined);
    if (due.length === 0) return undefined;
    if (!options.yes) {
      print(io, `Nothing was deleted. '${io.program} gc --yes' deletes ${due.length} of ${found.length}.`);
      return undefined;
    }
    for (const orphan of due) print(io, await collect(hub, engine, orphan));
    return undefined;
  });
}

/** What became of it. Only this version of it is deleted, and only if its owner is still gone. */
async function collect(hub: Hub, engine: EngineDefinition, orphan: Orphan): Promise<string> {
  const { where, object } = orphan;
  const title = `${where}: ${object.kind} ${object.metadata.name}`;
  if (where !== "hub" && !(await isReady(hub, engine, where))) return `${title}: kept, ${where} is not Ready now`;
  if (!(await isStillOrphan(hub, engine, orphan))) return `${title}: kept, it is in use now`;
  const drop = (client: KubeClient) => remove(hub, client, orphan);
  try {
    await (where === "hub" ? drop(hub.client) : withMember(hub, engine, where, ({ client }) => drop(client)));
  } catch (error) {
    if (error instanceof NotFoundError) return `${title}: gone already`;
    if (error instanceof ConflictError) return `${title}: kept, it has changed meanwhile; run gc again`;
    // One that may not be deleted keeps no other from being deleted.
    if (error instanceof ForbiddenError) return `${title}: kept, ${error.message}`;
    throw error;
  }
  return `${title}: deleted`;
}

async function isReady({ client, request }: Hub, engine: EngineDefinition, name: string): Promise<boolean> {
  const cluster = await client.find(engine.clusters, { name }, request);
  return cluster !== undefined && engine.readCluster(cluster)?.state === "Ready";
}

async function remove(hub: Hub, client: KubeClient, { resource, object }: Orphan): Promise<void> {
  // Karmada deletes no protected object. If this process dies in between, the hold still holds, and is listed again.
  const unprotected = resource.kind === OVERRIDE_POLICIES.kind ? unprotectedHold(object) : undefined;
  const current = unprotected ? await client.update(resource, unprotected, hub.request) : object;
  const { uid, resourceVersion } = current.metadata;
  const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  await client.delete(resource, object.metadata, { preconditions, propagation: "Background", ...hub.request });
}
