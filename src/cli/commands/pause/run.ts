import { pauseApplication } from "../../applications/acting.ts";
import { applicationName } from "../../applications/kind.ts";
import { change, describe, patchSpec, readStatefulset } from "../../hub/change.ts";
import type { Bound } from "../../hub/seen.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";

export function runPause(io: Io, given: string, options: GlobalOptions & Bound): Promise<undefined> {
  const application = applicationName(given);
  if (application !== undefined) return pauseApplication(io, application, options);
  return change(io, given, options, async (hub, object) => {
    if (readStatefulset(object).spec.updateStrategy.rollingUpdate.paused)
      return `${describe(object)} is already paused`;
    await patchSpec(hub, object, { updateStrategy: { rollingUpdate: { paused: true } } });
    return `${describe(object)} is paused: the step in progress completes, no other starts; scaling continues`;
  });
}
