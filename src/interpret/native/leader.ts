import { parseMemberReport } from "../../contract/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { presentAt } from "../fields.ts";
import type { Handler, LeaderClaim } from "../operations.ts";
import { BadAnswer, NothingToRead, parseLeader } from "../results.ts";

/** The contract's report names the leader only if it is in this cluster. */
export const reportedLeader: Handler<"InterpretLeader"> = ({ object }) => {
  const report = parseMemberReport(presentAt(object, "status", "crossCluster"));
  if (report !== undefined) return parseLeader(report.leader, "status.crossCluster.leader");
  throw new NothingToRead("has no status.crossCluster; set spec.leader.fieldPath to the field that shows the leader");
};

/** The leader from a field of the object: a name, or a boolean for "here". An absent field means unknown. */
export function leaderAt(object: JsonObject, fieldPath: string): LeaderClaim {
  return parseLeader(valueAtFieldPath(object, fieldPath), fieldPath);
}

/**
 * `status.leader`, `status.members[0].name`, `metadata.labels['example.com/leader']`; a leading dot, `$` or braces, as
 * in JSONPath, are accepted.
 */
export function valueAtFieldPath(object: JsonObject, fieldPath: string): Json | undefined {
  let current: Json | undefined = object;
  for (const step of parseFieldPath(fieldPath)) {
    if (typeof step === "number") current = Array.isArray(current) ? current.at(step) : undefined;
    else current = isJsonObject(current) && Object.hasOwn(current, step) ? current[step] : undefined;
  }
  return current;
}

const STEP = /^(?:\.?([^.[\]'"]+)|\[(-?\d+)\]|\['([^']+)'\]|\["([^"]+)"\])/;

function parseFieldPath(fieldPath: string): (string | number)[] {
  let rest = fieldPath
    .trim()
    .replace(/^\{(.*)\}$/, "$1")
    .replace(/^\$/, "");
  const steps: (string | number)[] = [];
  while (rest !== "") {
    const match = STEP.exec(rest);
    if (match === null) {
      throw new BadAnswer(`"${fieldPath}" is not a field path: write it like status.leader or status.members[0].name`);
    }
    const [whole, key, index, single, double] = match;
    steps.push(index === undefined ? (key ?? single ?? double ?? "") : Number(index));
    rest = rest.slice(whole.length);
  }
  return steps;
}
