import type { CrossClusterStatefulsetStatus, ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { abortApplication, promoteApplication } from "../../applications/acting.ts";
import { applicationName } from "../../applications/kind.ts";
import { CommandError } from "../../errors.ts";
import { change, describe, patchSpec, readStatefulset, timeNow } from "../../hub/change.ts";
import { goingOn } from "../../hub/rollout-words.ts";
import { type Bound, named, seenOf } from "../../hub/seen.ts";
import { whoAmI } from "../../hub/whoami.ts";
import type { GlobalOptions } from "../../options.ts";
import { confirm } from "../../terminal/confirm.ts";
import type { Io } from "../../terminal/io.ts";
import type { PromoteOptions } from "./command.ts";

type Options = PromoteOptions & GlobalOptions & Bound;
type Status = CrossClusterStatefulsetStatus;

/** [W7] Past everything that delays the rollout now and that a user may override: a soak, a closed window, or both. */
export function promote(io: Io, given: string, options: Options): Promise<undefined> {
  const application = applicationName(given);
  if (application !== undefined) return promoteApplication(io, application, options);
  const bound = { ...options, seen: { ...options.seen, ...named(options) } };
  return change(io, given, bound, async (hub, object) => {
    const { spec, status } = readStatefulset(object);
    const { to, wave, soakUntil, windowClosed, awaitingApproval } = status?.rollout ?? {};
    if (to === undefined || (soakUntil === undefined && !windowClosed)) {
      const approval = awaitingApproval ? `; it waits for approval: ${io.program} approve ${object.metadata.name}` : "";
      throw new CommandError(
        `${describe(object)} waits neither for a soak nor for a maintenance window: ${goingOn(status)}${approval}`,
      );
    }
    const soaks = soakUntil !== undefined && wave !== undefined;
    const consequences = [
      ...(soaks ? [`Wave ${wave} soaks until ${soakUntil}. ${afterWave(spec, wave)}.`] : []),
      ...(windowClosed
        ? [
            `No maintenance window is open. Steps to ${to} would start now, and outside the windows until it is complete.`,
          ]
        : []),
    ];
    await confirm(io, options.yes, consequences.join(" "));
    const by = await whoAmI(hub);
    const before = spec.promote?.revision === to ? spec.promote : undefined;
    const window = windowClosed || before?.window;
    const promotion: JsonObject = {
      revision: to,
      // A merge patch removes null values: nothing of a promotion of another revision may remain.
      wave: soaks ? wave : (before?.wave ?? null),
      window: window ? true : null,
      at: timeNow(hub),
      by: by ?? null,
    };
    const seen = { ...bound.seen, revision: to, ...(soaks && { wave }), past: seenOf(object).past };
    await patchSpec(hub, object, { promote: promotion }, seen);
    const past = [
      ...(soaks ? [`past the soak of wave ${wave}`] : []),
      ...(windowClosed ? ["outside the windows"] : []),
    ];
    return `${describe(object)} continues ${past.join(" and ")}`;
  });
}

function afterWave({ updateStrategy }: ParsedCrossClusterStatefulset["spec"], wave: number): string {
  const { waves = [] } = updateStrategy.rollingUpdate;
  return waves[wave - 1]?.approval === "Manual" ? "It would wait for approval now" : "The next wave would start now";
}

/** [F9] An undo to the revision that the rollout in progress started from. */
export function abort(io: Io, given: string, options: Options): Promise<undefined> {
  const application = applicationName(given);
  if (application !== undefined) return abortApplication(io, application, options);
  const bound = { ...options, seen: { ...options.seen, ...named(options) } };
  return change(io, given, bound, async (hub, object) => {
    const { status } = readStatefulset(object);
    const { rollout } = status ?? {};
    if (!rollout || rollout.type === "RollBack") {
      const why = rollout ? goingOn(status) : "no rollout is in progress";
      throw new CommandError(`there is nothing to abort in ${describe(object)}: ${why}`);
    }
    const { from, to } = rollout;
    if (from === undefined || from === to) {
      throw new CommandError(
        `${describe(object)} has never completed another revision than ${to}: there is nothing to return to`,
      );
    }
    await confirm(io, options.yes, movesBack(status, from, to));
    const seen = { ...bound.seen, ...(to !== undefined && { revision: to }), from };
    await patchSpec(hub, object, { undo: { to: from, at: timeNow(hub) } }, seen);
    return `${describe(object)} aborts ${to} and returns to ${from}, in order; it stays there until the template changes`;
  });
}

/** Clusters that have started return; the others never move. */
function movesBack(status: Status | undefined, from: string, to: string | undefined): string {
  const rows = (status?.clusters ?? []).filter(({ granted }) => (granted?.replicas ?? 0) > 0);
  const begun = rows.filter(({ granted }) => granted?.revision === to);
  const rest = rows.filter((row) => !begun.includes(row)).map(({ name }) => name);
  const back = begun.map(({ name, granted }) => {
    const released = (granted?.replicas ?? 0) - (granted?.partition ?? 0);
    return `${name} (${released === 1 ? "1 instance" : `${released} instances`})`;
  });
  const moves =
    back.length === 0 ? "No cluster has started; nothing moves." : `Returning to ${from}: ${back.join(", ")}.`;
  return `This aborts the rollout to ${to}. ${moves}${rest.length > 0 && back.length > 0 ? ` Untouched: ${rest.join(", ")}.` : ""}`;
}
