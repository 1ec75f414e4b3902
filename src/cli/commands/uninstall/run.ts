import type { KubeObject } from "../../../kube/index.ts";
import { ConflictError, NotFoundError } from "../../../kube/index.ts";
import { CommandError } from "../../errors.ts";
import { FIELD_MANAGER } from "../../hub/change.ts";
import { engineOf } from "../../hub/engine.ts";
import { type Hub, withHub } from "../../hub/hub.ts";
import { readLeader } from "../../hub/leader.ts";
import type { GlobalOptions } from "../../options.ts";
import { confirm } from "../../terminal/confirm.ts";
import { durationOption } from "../../terminal/duration-option.ts";
import type { Io } from "../../terminal/io.ts";
import { print, table } from "../../terminal/output.ts";
import type { UninstallOptions } from "./command.ts";
import { removeHubSet, templatesHeldOnlyByLabel } from "./hub-set.ts";
import { type Deletion, deletionOf, listManaged, type Managed, rowOf } from "./managed.ts";

type Options = UninstallOptions & GlobalOptions;

/** Users wait for it on a terminal. */
const LOOK_MS = 500;
/** The controller writes the status often; at most this often in a row it comes between a read and a deletion. */
const DELETE_ATTEMPTS = 10;

export function runUninstall(io: Io, options: Options): Promise<undefined> {
  const timeoutMs = durationOption("--timeout", options.timeout);
  if (options.release && options.apply) {
    throw new CommandError("--release and --apply are two steps: remove the controller from its cluster in between");
  }
  return withHub(io, options, async (hub) => {
    const managed = await listManaged(hub);
    if (managed.length > 0) print(io, table(["NAMESPACE", "NAME", "DELETING IT"], managed.map(rowOf)).join("\n"));
    if (options.release) return release(io, hub, managed, options, timeoutMs);
    if (options.apply) return removeFromHub(io, hub, managed, options);
    print(
      io,
      managed.length > 0
        ? `Nothing was changed. '${io.program} uninstall --release' lets go of all, and changes nothing in the members.`
        : `Lockstep manages nothing. Remove the controller from its cluster; then run '${io.program} uninstall --apply'.`,
    );
    return undefined;
  });
}

async function release(io: Io, hub: Hub, managed: readonly Managed[], options: Options, timeoutMs: number) {
  const running = managed.filter(({ deletion }) => deletion === "stops");
  const due = managed.filter(({ deletion }) => deletion !== "stops");
  if (due.length > 0) {
    const ended = due.filter(({ deletion }) => deletion === "forgets").length;
    const jobs =
      ended > 0 ? ` ${ended} of these are jobs that have ended: what they left in the members is deleted.` : "";
    await confirm(
      io,
      options.yes,
      `${due.length} objects would be deleted on the hub. What they deployed stays in the members as it is, and no longer fails over.${jobs}`,
    );
    for (const each of due) print(io, `${titleOf(each)}: ${await letGo(hub, each)}`);
    await untilGone(io, hub, due, options.systemNamespace, timeoutMs);
  }
  if (running.length > 0) {
    const names = running.map(titleOf).join(", ");
    throw new CommandError(
      `still managed: ${names}. Deleting a job stops its work: wait until it has ended (${io.program} wait), or delete it yourself`,
    );
  }
  print(
    io,
    `Lockstep manages nothing now. Remove the controller from its cluster; then run '${io.program} uninstall --apply'.`,
  );
  return undefined;
}

/** Deletes the object only in a version that lets go: an edit in between is seen, and read again. */
async function letGo({ client, request }: Hub, { resource, object }: Managed): Promise<string> {
  const { name, namespace = "", uid, deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined) return "is being deleted already";
  const at = { name, namespace };
  for (let attempt = 1; ; attempt++) {
    try {
      const now = await client.find(resource, at, request);
      if (now === undefined || now.metadata.uid !== uid) return "is gone";
      const ready = allowed(deletionOf(now)) ? now : await setRelease(now);
      const { resourceVersion } = ready.metadata;
      const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
      await client.delete(resource, at, { preconditions, propagation: "Background", ...request });
      return "is released";
    } catch (error) {
      if (error instanceof NotFoundError) return "is gone";
      if (!(error instanceof ConflictError) || attempt === DELETE_ATTEMPTS) throw error;
    }
  }

  function setRelease(now: KubeObject): Promise<KubeObject> {
    const { resourceVersion } = now.metadata;
    const metadata = { ...(resourceVersion && { resourceVersion }) };
    // What has a lifetime must be torn down at its end, so it goes as well.
    const body = { metadata, spec: { deletionPolicy: "Release", lifetime: null } };
    return client.patch(resource, at, { type: "merge", body }, { ...request, fieldManager: FIELD_MANAGER });
  }
}

function allowed(deletion: Deletion): boolean {
  return deletion === "releases" || deletion === "forgets";
}

async function untilGone(io: Io, hub: Hub, due: readonly Managed[], systemNamespace: string, timeoutMs: number) {
  const startedMs = hub.clock.monotonicMs();
  const uids = new Set(due.map(({ object }) => object.metadata.uid));
  for (;;) {
    const left = (await listManaged(hub)).filter(({ object }) => uids.has(object.metadata.uid));
    if (left.length === 0) return;
    if (hub.clock.monotonicMs() - startedMs >= timeoutMs) {
      const { holder } = await readLeader(hub, systemNamespace);
      const why =
        holder === undefined
          ? `no controller leads; it must run until all are released`
          : `ask each of them: ${io.program} why NAME`;
      throw new CommandError(`still being released: ${left.map(titleOf).join(", ")}: ${why}`);
    }
    await hub.clock.sleep(LOOK_MS);
  }
}

/** Refused while anything is managed, and while a controller leads: it would act on what is deleted. */
async function removeFromHub(io: Io, hub: Hub, managed: readonly Managed[], options: Options) {
  if (managed.length > 0) {
    throw new CommandError(
      `Lockstep still manages ${managed.length} objects, and with its kinds they would be deleted. Run '${io.program} uninstall --release' first`,
    );
  }
  const { holder } = await readLeader(hub, options.systemNamespace);
  if (holder !== undefined) {
    throw new CommandError(
      `the controller ${holder} leads: remove it from its cluster first (kubectl delete -f host.yaml, or helm uninstall). One that was killed counts for a minute`,
    );
  }
  const engine = await engineOf(hub, options.engine);
  const held = await templatesHeldOnlyByLabel(hub, engine);
  if (held.length > 0) {
    print(io, `Karmada renders these as soon as the standing hold is deleted: ${held.join(", ")}`);
  }
  await confirm(io, options.yes, `Lockstep's kinds, rights and policies would be deleted on ${hub.server}.`);
  await removeHubSet(hub, engine, options.systemNamespace, (line) => print(io, line));
  print(
    io,
    `Namespace ${options.systemNamespace} is kept. If nothing else is in it: kubectl delete namespace ${options.systemNamespace}`,
  );
  return undefined;
}

function titleOf({ short, object: { metadata } }: Managed): string {
  return `${metadata.namespace}/${short}/${metadata.name}`;
}
