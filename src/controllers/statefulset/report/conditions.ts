import type { CrossClusterStatefulsetStatus } from "../../../api/index.ts";
import type { PlanResult } from "../../../plan/index.ts";
import type { Waiting } from "../../../rollout/index.ts";
import type { ReportFacts } from "./report.ts";
import { cut, sentence, time } from "./words.ts";

type Condition = NonNullable<CrossClusterStatefulsetStatus["conditions"]>[number];

/** The standard conditions, each with the time of its last transition. */
export function conditionsOf(
  { plan, statefulset, settings = [] }: Pick<ReportFacts, "plan" | "statefulset" | "settings">,
  settled: boolean,
  first: Waiting | undefined,
  before: readonly Condition[],
  nowMs: number,
): Condition[] {
  const { figures, ledger } = plan;
  const why = first ? sentence(first) : "";
  const hasQuorum = figures.ready > 0 && (statefulset.spec.quorum === "None" || figures.ready >= figures.majority);
  const lost = Object.entries(ledger.clusters).flatMap(([name, { presence, grant }]) =>
    presence.kind !== "lost" || !grant ? [] : [name],
  );
  const { halt } = ledger;
  const paused = statefulset.spec.updateStrategy.rollingUpdate.paused || halt !== null;
  const back = wentBack(plan);
  const degraded = degradedBy(halt, lost, hasQuorum, back);
  const counts =
    `${figures.ready} of ${figures.desired} instances are ready, ${figures.majority} ` +
    `of ${figures.voters} voters are a majority`;
  const end = back ?? { reason: "Complete", message: `all ${figures.desired} instances are updated and ready` };
  const going = first?.code ?? "InProgress";
  return withTimes(
    [
      condition("Available", hasQuorum ? "True" : "False", hasQuorum ? "QuorumReady" : "NoQuorum", counts),
      condition(
        "Settled",
        settled ? "True" : "False",
        settled ? end.reason : going,
        settled ? end.message : why || counts,
      ),
      settled
        ? condition("Progressing", "False", end.reason, end.message)
        : condition("Progressing", halt ? "False" : "True", going, why || counts),
      condition("Degraded", degraded ? "True" : "False", degraded?.reason ?? "AsExpected", degraded?.message ?? counts),
      condition(
        "Paused",
        paused ? "True" : "False",
        halt?.code ?? (paused ? "Paused" : "NotPaused"),
        halt?.message ?? "",
      ),
      condition(
        "NotFaultTolerant",
        figures.notFaultTolerant ? "True" : "False",
        figures.notFaultTolerant ? "EveryInstanceNeeded" : "MajoritySurvivesOne",
        figures.notFaultTolerant ? "with so few instances none can be away without losing the majority" : "",
      ),
      // Only while there is one: a condition that is never true would only lengthen every status.
      ...(settings.length === 0 ? [] : [condition("SettingsConflict", "True", "EngineSettings", fighting(settings))]),
    ],
    statefulset.metadata.generation ?? 0,
    before,
    nowMs,
  );
}

function fighting(settings: NonNullable<ReportFacts["settings"]>): string {
  return settings.map(({ message, remedy }) => `${message}: ${remedy}`).join("; ");
}

interface Said {
  readonly reason: string;
  readonly message: string;
}

/** The application runs another revision than its template's: a person undid that one, or it failed. */
function wentBack({ waiting, ledger }: PlanResult): (Said & { readonly isFailure: boolean }) | undefined {
  const said = waiting.find(({ code }) => code === "RevisionRejected");
  if (!said) return undefined;
  const isFailure = ledger.override?.cause === "failure";
  return { reason: isFailure ? "RolledBack" : "Undone", message: sentence(said), isFailure };
}

function degradedBy(
  halt: PlanResult["ledger"]["halt"],
  lost: readonly string[],
  hasQuorum: boolean,
  back: ReturnType<typeof wentBack>,
): (Partial<Said> & { readonly reason: string }) | undefined {
  if (halt) return { reason: halt.code, message: halt.message };
  if (lost.length > 0) return { reason: "ClusterLost", message: `lost: ${lost.join(", ")}` };
  if (!hasQuorum) return { reason: "NoQuorum" };
  return back?.isFailure ? back : undefined;
}

type BareCondition = Pick<Condition, "type" | "status" | "reason" | "message">;

export function condition(type: string, status: Condition["status"], reason: string, message: string): BareCondition {
  return { type, status, reason, message: cut(message) };
}

/** A condition keeps its time for as long as its status stays the same. */
export function withTimes(
  conditions: readonly BareCondition[],
  observedGeneration: number,
  before: readonly Condition[],
  nowMs: number,
): Condition[] {
  return conditions.map((now) => {
    const previous = before.find(({ type }) => type === now.type);
    const lastTransitionTime = previous?.status === now.status ? previous.lastTransitionTime : time(nowMs);
    return { observedGeneration, lastTransitionTime, ...now };
  });
}
