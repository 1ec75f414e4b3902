import { change, describe, patchSpec, readStatefulset, timeNow } from "../../hub/change.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";

export function runRestart(io: Io, given: string, options: GlobalOptions): Promise<undefined> {
  return change(io, given, options, async (hub, object) => {
    const { status } = readStatefulset(object);
    await patchSpec(hub, object, { restartedAt: timeNow(hub) });
    const held =
      status?.rejectedRevision === undefined
        ? ""
        : `; they stay on ${status.updateRevision}, because ${status.rejectedRevision} was undone or failed`;
    return `${describe(object)} restarts every instance, in the order of an update${held}`;
  });
}
