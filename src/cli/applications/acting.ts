/** What people do to a rollout of an application: pause, resume, undo, approve, promote, abort. */
import { AlreadyExistsError, type KubeObject } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import { FIELD_MANAGER, patchSpecOf, timeNow } from "../hub/change.ts";
import { APPROVALS, type Hub, withHub } from "../hub/hub.ts";
import { type Bound, type Expected, expectSeen, named, seenOf } from "../hub/seen.ts";
import { whoAmI } from "../hub/whoami.ts";
import type { GlobalOptions } from "../options.ts";
import { confirm } from "../terminal/confirm.ts";
import type { Io } from "../terminal/io.ts";
import { print } from "../terminal/output.ts";
import { APPLICATIONS, describeApplication, getApplication, readApplication } from "./kind.ts";

/** What `promote` and `abort` take. */
interface Deciding {
  readonly yes?: boolean;
  readonly revision?: string;
  readonly wave?: string;
}

function change(
  io: Io,
  name: string,
  options: GlobalOptions & Bound,
  make: (hub: Hub, object: KubeObject) => Promise<string>,
): Promise<undefined> {
  return withHub(io, options, async (hub) => {
    const object = await getApplication(hub, name);
    expectSeen(describeApplication(object), options.seen ?? {}, object);
    print(io, await make(hub, object));
    return undefined;
  });
}

/** A compare-and-swap on the spec. `seen` must still be so. */
function patchSpec(hub: Hub, object: KubeObject, spec: JsonObject, seen: Expected = {}): Promise<void> {
  return patchSpecOf(hub, APPLICATIONS, object, spec, seen);
}

export function pauseApplication(io: Io, name: string, options: GlobalOptions & Bound): Promise<undefined> {
  return change(io, name, options, async (hub, object) => {
    const what = describeApplication(object);
    if (readApplication(object, what).spec.rollout.paused) return `${what} is already paused`;
    await patchSpec(hub, object, { rollout: { paused: true } });
    return `${what} is paused: the step in progress completes, no other starts`;
  });
}

export function resumeApplication(io: Io, name: string, options: GlobalOptions & Bound): Promise<undefined> {
  return change(io, name, options, async (hub, object) => {
    const what = describeApplication(object);
    const { paused } = readApplication(object, what).spec.rollout;
    const spec = { resumedAt: timeNow(hub), ...(paused && { rollout: { paused: false } }) };
    await patchSpec(hub, object, spec, options.seen);
    return `${what} continues`;
  });
}

export function undoApplication(
  io: Io,
  name: string,
  options: GlobalOptions & Bound & { readonly toRevision?: string },
): Promise<undefined> {
  return change(io, name, options, async (hub, object) => {
    const what = describeApplication(object);
    const { status } = readApplication(object, what);
    const history = status?.history ?? [];
    const wanted = options.toRevision ?? status?.previousRevision;
    const found = history.find(({ revision, number }) => revision === wanted || String(number) === wanted);
    if (!found) {
      const names = history.map(({ revision, number }) => `${number} (${revision})`).join(", ") || "none";
      throw new CommandError(
        options.toRevision === undefined
          ? `${what} has no earlier revision that completed; name one: --to-revision (there are: ${names})`
          : `${what} has no revision '${options.toRevision}'; there are: ${names}`,
      );
    }
    await patchSpec(hub, object, { undo: { to: found.revision, at: timeNow(hub) } }, options.seen);
    return `${what} returns to revision ${found.number ?? "?"} (${found.revision}), in order; it stays there until its source changes`;
  });
}

/** [W7] Past a soak, a closed window, or both. */
export function promoteApplication(
  io: Io,
  name: string,
  options: GlobalOptions & Bound & Deciding,
): Promise<undefined> {
  return change(io, name, { ...options, seen: { ...options.seen, ...named(options) } }, async (hub, object) => {
    const what = describeApplication(object);
    const { spec, status } = readApplication(object, what);
    const { to, wave } = status?.rollout ?? {};
    const reasons = new Set([status?.reason, ...(status?.clusters ?? []).map(({ reason }) => reason)]);
    const soaks = reasons.has("Soaking") && wave !== undefined;
    const isClosed = reasons.has("WindowClosed");
    if (to === undefined || (!soaks && !isClosed)) {
      const approval = reasons.has("AwaitingApproval")
        ? `; it waits for approval: ${io.program} approve dapp/${name}`
        : "";
      throw new CommandError(
        `${what} waits neither for a soak nor for a maintenance window: it is ${status?.phase ?? "not reported yet"}${approval}`,
      );
    }
    const consequences = [
      ...(soaks ? [`Wave ${wave} would not soak any longer.`] : []),
      ...(isClosed
        ? [
            `No maintenance window is open. Steps to ${to} would start now, and outside the windows until it is complete.`,
          ]
        : []),
    ];
    await confirm(io, options.yes, consequences.join(" "));
    const before = spec.promote?.revision === to ? spec.promote : undefined;
    const promote: JsonObject = {
      revision: to,
      // A merge patch removes null values: nothing of a promotion of another revision may remain.
      wave: soaks ? wave : (before?.wave ?? null),
      window: isClosed || before?.window ? true : null,
      at: timeNow(hub),
      by: (await whoAmI(hub)) ?? null,
    };
    const { revision, past: held } = seenOf(object);
    await patchSpec(
      hub,
      object,
      { promote },
      { ...options.seen, revision: revision ?? to, ...(soaks && { wave }), past: held },
    );
    const past = [...(soaks ? [`past the soak of wave ${wave}`] : []), ...(isClosed ? ["outside the windows"] : [])];
    return `${what} continues ${past.join(" and ")}`;
  });
}

/** [A2] An undo to the revision that the rollout in progress started from. */
export function abortApplication(io: Io, name: string, options: GlobalOptions & Bound & Deciding): Promise<undefined> {
  return change(io, name, { ...options, seen: { ...options.seen, ...named(options) } }, async (hub, object) => {
    const what = describeApplication(object);
    const { status } = readApplication(object, what);
    const { rollout, rejectedRevision, clusters = [] } = status ?? {};
    const { from, to } = rollout ?? {};
    if (to === undefined) throw new CommandError(`there is nothing to abort in ${what}: no rollout is in progress`);
    if (rejectedRevision !== undefined && rejectedRevision !== to)
      throw new CommandError(`there is nothing to abort in ${what}: it returns to ${to} already`);
    if (from === undefined || from === to)
      throw new CommandError(
        `${what} has never completed another revision than ${to}: there is nothing to return to; delete it to remove it`,
      );
    const begun = clusters.filter(({ revision }) => revision === to).map(({ name: each }) => each);
    const moves =
      begun.length === 0 ? "No cluster has started; nothing moves." : `These return to ${from}: ${begun.join(", ")}.`;
    await confirm(io, options.yes, `This aborts the rollout to ${to}. ${moves}`);
    await patchSpec(hub, object, { undo: { to: from, at: timeNow(hub) } }, { ...options.seen, revision: to, from });
    return `${what} aborts ${to} and returns to ${from}, in order; it stays there until its source changes`;
  });
}

export function approveApplication(
  io: Io,
  name: string,
  options: GlobalOptions & Bound & { readonly wave?: string; readonly revision?: string; readonly comment?: string },
): Promise<undefined> {
  const { revision } = options;
  const bound = { ...options, seen: { ...options.seen, ...(revision !== undefined && { revision }) } };
  return change(io, name, bound, async (hub, object) => {
    const what = describeApplication(object);
    const { status } = readApplication(object, what);
    const { to, wave } = status?.rollout ?? {};
    if (status?.reason !== "AwaitingApproval" || to === undefined || wave === undefined) {
      throw new CommandError(`no wave of ${what} waits for approval: it is ${status?.phase ?? "not reported yet"}`);
    }
    if (options.wave !== undefined && options.wave !== String(wave)) {
      throw new CommandError(`--wave ${options.wave}: wave ${wave} of ${what} waits for approval`);
    }
    const approvedBy = await whoAmI(hub);
    const approval: KubeObject = {
      apiVersion: APPROVALS.apiVersion,
      kind: APPROVALS.kind,
      metadata: { name: `dapp-${name}-${to}-wave-${wave}`.slice(0, 253), namespace: hub.namespace },
      spec: {
        kind: APPLICATIONS.kind,
        name,
        revision: to,
        wave,
        ...(options.comment !== undefined && { comment: options.comment }),
        ...(approvedBy !== undefined && { approvedBy }),
      },
    };
    try {
      await hub.client.create(APPROVALS, approval, { ...hub.request, fieldManager: FIELD_MANAGER });
    } catch (error) {
      if (!(error instanceof AlreadyExistsError)) throw error;
      return `wave ${wave} of ${what} is already approved for revision ${to}`;
    }
    return `wave ${wave} of ${what} is approved for revision ${to}${approvedBy === undefined ? "" : ` by ${approvedBy}`}`;
  });
}
