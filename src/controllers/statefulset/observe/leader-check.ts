import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { SettingProblem } from "../../../plan/index.ts";

/**
 * What is wrong with `spec.leader` whatever any cluster shows: a script that does not compile, or does not define its
 * function. Said before anything is deployed, not when the first update waits for the leader.
 */
export function leaderProblems(
  interpreter: Pick<Interpreter, "interpret">,
  { spec }: ParsedCrossClusterStatefulset,
  template: KubeObject | undefined,
): SettingProblem[] {
  const luaScript = spec.leader?.luaScript;
  if (luaScript === undefined || !template) return [];
  const outcome = interpreter.interpret("InterpretLeader", { object: template, rule: { luaScript } });
  // Only errors in the script itself count. Its result is ignored, because this object has no status.
  if (outcome.state !== "failed" || outcome.code !== "BadCustomization") return [];
  const remedy = "Correct the script: function GetLeader(observedObj) ... return name end.";
  return [{ field: "leader.luaScript", message: outcome.reason, remedy }];
}
