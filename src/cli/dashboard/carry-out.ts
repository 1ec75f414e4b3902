/** An action of the page is the command of the same name, run as the viewer. The page has asked for confirmation. */
import type { Act, ClusterAct } from "../../web/index.ts";
import { approve } from "../commands/approve/run.ts";
import { drain, undrain } from "../commands/drain/run.ts";
import { runRetry } from "../commands/jobs/run.ts";
import { runPause } from "../commands/pause/run.ts";
import { abort, promote } from "../commands/promote/run.ts";
import { runResume } from "../commands/resume/run.ts";
import { runUndo } from "../commands/undo/run.ts";
import type { Io } from "../terminal/io.ts";
import { argumentOf } from "./kinds.ts";

export function carryOut(io: Io, act: Act | ClusterAct): Promise<undefined> {
  if ("cluster" in act) {
    return act.action === "drain" ? drain(io, act.cluster, { yes: true }) : undrain(io, act.cluster, {});
  }
  const { action, namespace, toRevision, comment } = act;
  const options = { namespace };
  const name = argumentOf(act);
  switch (action) {
    case "pause":
      return runPause(io, name, options);
    case "resume":
      return runResume(io, name, options);
    case "approve":
      return approve(io, name, { ...options, ...(comment !== undefined && { comment }) });
    case "promote":
      return promote(io, name, { ...options, yes: true });
    case "abort":
      return abort(io, name, { ...options, yes: true });
    case "retry":
      return runRetry(io, name, options);
    case "undo":
      return runUndo(io, name, { ...options, ...(toRevision !== undefined && { toRevision }) });
  }
}
