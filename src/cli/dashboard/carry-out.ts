/** An action of the page is the command of the same name, run as the viewer. The page has asked for confirmation. */
import type { Act } from "../../web/index.ts";
import { approve } from "../commands/approve/run.ts";
import { runPause } from "../commands/pause/run.ts";
import { abort, promote } from "../commands/promote/run.ts";
import { runResume } from "../commands/resume/run.ts";
import { runUndo } from "../commands/undo/run.ts";
import type { Io } from "../terminal/io.ts";

export function carryOut(io: Io, { action, namespace, name, toRevision, comment }: Act): Promise<undefined> {
  const options = { namespace };
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
    case "undo":
      return runUndo(io, name, { ...options, ...(toRevision !== undefined && { toRevision }) });
  }
}
