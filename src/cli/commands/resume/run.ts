import { resumeApplication } from "../../applications/acting.ts";
import { applicationName } from "../../applications/kind.ts";
import { change, describe, patchSpec, readStatefulset, timeNow } from "../../hub/change.ts";
import type { Bound } from "../../hub/seen.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";

export function runResume(io: Io, given: string, options: GlobalOptions & Bound): Promise<undefined> {
  const application = applicationName(given);
  if (application !== undefined) return resumeApplication(io, application, options);
  return change(io, given, options, async (hub, object) => {
    const { spec } = readStatefulset(object);
    const { paused } = spec.updateStrategy.rollingUpdate;
    const resumed = {
      resumedAt: timeNow(hub),
      ...(paused && { updateStrategy: { rollingUpdate: { paused: false } } }),
    };
    await patchSpec(hub, object, resumed, options.seen);
    return `${describe(object)} continues`;
  });
}
