import { undoApplication } from "../../applications/acting.ts";
import { applicationName } from "../../applications/kind.ts";
import { CommandError } from "../../errors.ts";
import { change, describe, patchSpec, readStatefulset, timeNow } from "../../hub/change.ts";
import type { Bound } from "../../hub/seen.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { nearest } from "../../terminal/nearest.ts";
import type { UndoOptions } from "./command.ts";

export function runUndo(io: Io, given: string, options: UndoOptions & GlobalOptions & Bound): Promise<undefined> {
  const application = applicationName(given);
  if (application !== undefined) return undoApplication(io, application, options);
  return change(io, given, options, async (hub, object) => {
    const { status, spec } = readStatefulset(object);
    const history = [...(status?.history ?? [])].sort((a, b) => (b.number ?? 0) - (a.number ?? 0));
    const to = options.toRevision;
    if (to === undefined && spec.undo && status?.observedGeneration !== object.metadata.generation) {
      throw new CommandError(
        `${describe(object)} already returns to ${spec.undo.to}; for another revision, use --to-revision`,
      );
    }
    const wanted = to ?? status?.previousRevision;
    const found = history.find(({ revision, number }) => revision === wanted || String(number) === wanted);
    if (found === undefined) {
      const names = history.map(({ revision, number }) => `${number} (${revision})`).join(", ") || "none";
      const like = nearest(
        wanted ?? "",
        history.map(({ revision }) => revision),
      );
      const isGoingBack = status?.rejectedRevision !== undefined && status.updateRevision !== status.currentRevision;
      throw new CommandError(
        to !== undefined
          ? `${describe(object)} has no revision '${to}'${like ? `; did you mean '${like}'?` : `; there are: ${names}`}`
          : isGoingBack
            ? `${describe(object)} already returns to ${status.updateRevision}; for another revision, use --to-revision`
            : `${describe(object)} has no earlier revision that completed; name one: --to-revision (there are: ${names})`,
      );
    }
    await patchSpec(hub, object, { undo: { to: found.revision, at: timeNow(hub) } }, options.seen);
    return `${describe(object)} returns to revision ${found.number ?? "?"} (${found.revision}), in order; it stays there until the template itself is edited`;
  });
}
