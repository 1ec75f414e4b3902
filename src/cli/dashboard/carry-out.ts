/** An action of the page is the command of the same name, run as the viewer. The page has asked for confirmation. */
import type { Act, ClusterAct } from "../../web/index.ts";
import { approve } from "../commands/approve/run.ts";
import { drain, undrain } from "../commands/drain/run.ts";
import { runRetry } from "../commands/jobs/run.ts";
import { runPause } from "../commands/pause/run.ts";
import { abort, promote } from "../commands/promote/run.ts";
import { runResume } from "../commands/resume/run.ts";
import { runUndo } from "../commands/undo/run.ts";
import type { Expected } from "../hub/seen.ts";
import type { Io } from "../terminal/io.ts";
import { argumentOf } from "./kinds.ts";

/** Of what was seen, only what the action depends on: a pause must not be refused because a wave advanced. */
export function boundTo({ action, seen }: Pick<Act, "action" | "seen">): Expected {
  const { uid, past } = seen;
  const revision = { uid, ...shown("revision", seen.revision) };
  const at = { ...revision, ...shown("wave", seen.wave) };
  switch (action) {
    case "pause":
      return { uid };
    case "resume":
    case "undo":
      return revision;
    case "abort":
      return { ...revision, ...shown("from", seen.from) };
    case "approve":
      return at;
    case "promote":
      return { ...at, past };
    case "retry":
      return { uid, ...shown("attempt", seen.attempt) };
  }
}

/** Absent was seen as well: it must be absent still. */
function shown<K extends keyof Expected>(key: K, value: Expected[K]): Expected {
  return { [key]: value };
}

export function carryOut(io: Io, act: Act | ClusterAct): Promise<undefined> {
  if ("cluster" in act) {
    const { action, cluster, uid } = act;
    return action === "drain"
      ? drain(io, cluster, { yes: true, seen: { uid } })
      : undrain(io, cluster, { seen: { uid } });
  }
  const { action, namespace, toRevision, comment } = act;
  const options = { namespace, seen: boundTo(act) };
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
