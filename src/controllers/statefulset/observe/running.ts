/** What clusters run already when an application is taken up: what the engine delivered, or an earlier life granted. */
import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import type { Baseline, Ledger, RevisionIntent } from "../../../plan/index.ts";
import type { Unanswered } from "../../common/interpreted.ts";
import type { Reviser } from "../revise/revise.ts";
import { runsRevision } from "./baseline.ts";
import { commonToken, type FormerLife, formerLifeOf } from "./former.ts";
import { isFresh, type Moment, memberIn } from "./moment.ts";
import { ordinalsStart, replicasIn } from "./template.ts";

export interface RunningSources {
  readonly key: string;
  readonly statefulset: ParsedCrossClusterStatefulset;
  readonly ledger: Ledger;
  readonly moment: Moment;
  /** Clusters that the engine itself rendered the template for. */
  readonly adopting: ReadonlySet<string>;
  /** The template's revision. */
  readonly wanted: RevisionIntent;
  readonly reviser: Pick<Reviser, "baseline" | "content">;
  readonly interpreter: Pick<Interpreter, "interpret">;
}

/** What clusters run already. `unread`: why the interpreter has not read one of them yet. */
export interface Running {
  readonly baselines: Readonly<Record<string, Baseline | null>>;
  /** Clusters that run what an earlier life of the application granted: they are taken over as they are. */
  readonly former: ReadonlySet<string>;
  /** The token of that life. */
  readonly formerToken: string | undefined;
  readonly unread: Unanswered | undefined;
}

export async function runningOf(sources: RunningSources): Promise<Running> {
  const { baselines: rendered, unread } = await renderedBaselines(sources);
  // What runs can be compared with what is asked for only once both are known.
  const isComparable = sources.wanted.kind !== "pending" && isFresh(sources.ledger);
  const earlier = isComparable ? await earlierLife(sources) : NO_EARLIER_LIFE;
  const former = new Set(Object.keys(earlier.baselines).filter((name) => earlier.baselines[name]?.former));
  return { baselines: { ...earlier.baselines, ...rendered }, former, formerToken: earlier.token, unread };
}

/** What clusters run without a grant of ours: the engine had rendered it, or another actor created it. */
async function renderedBaselines({
  key,
  statefulset,
  ledger,
  moment,
  adopting,
  wanted,
  reviser,
  interpreter,
}: RunningSources): Promise<Pick<Running, "baselines" | "unread">> {
  const baselines: Record<string, Baseline | null> = {};
  let unread: Unanswered | undefined;
  for (const cluster of adopting) {
    if (ledger.clusters[cluster]?.grant) continue;
    const snapshot = memberIn(moment, cluster);
    if (snapshot.kind === "absent") continue;
    // [D10] It may run instances: nothing starts elsewhere beside them, as if the application were new.
    baselines[cluster] = null;
    if (wanted.kind === "pending" || snapshot.kind !== "present") continue;
    const replicas = replicasIn(interpreter, snapshot.object);
    if (replicas === undefined) continue;
    const made = await reviser.baseline(key, statefulset, snapshot.object);
    if ("kind" in made) unread = { ...made, message: `what ${cluster} runs cannot be read yet: ${made.message}` };
    else baselines[cluster] = { revision: made.id, replicas, start: ordinalsStart(snapshot.object) };
  }
  return { baselines, unread };
}

interface EarlierLife {
  readonly baselines: Readonly<Record<string, Baseline | null>>;
  readonly token: string | undefined;
}

const NO_EARLIER_LIFE: EarlierLife = { baselines: {}, token: undefined };

/**
 * [D8] What clusters run of an earlier life of this application, also in clusters that the schedule does not name:
 * their instances are voters of it. A cluster that its topology names and that cannot be seen may run some, too.
 */
async function earlierLife({
  key,
  statefulset,
  moment,
  wanted,
  reviser,
  interpreter,
}: RunningSources): Promise<EarlierLife> {
  const { clusters } = moment;
  const lives: FormerLife[] = [];
  const baselines: Record<string, Baseline | null> = {};
  const target = wanted.kind === "ready" ? await reviser.content(statefulset, wanted.id) : undefined;
  for (const cluster of clusters.values()) {
    const snapshot = memberIn(moment, cluster.name);
    const live = snapshot.kind === "present" ? snapshot.object : undefined;
    const replicas = live && replicasIn(interpreter, live);
    const life = live && replicas !== undefined ? formerLifeOf(live, cluster.name, replicas) : undefined;
    if (!live || replicas === undefined || !life) continue;
    lives.push(life);
    const start = ordinalsStart(live);
    const running = { live, cluster, replicas, start };
    const isTarget = target && runsRevision(running, target, statefulset, interpreter);
    const made = isTarget ? target : await reviser.baseline(key, statefulset, live);
    // While the interpreter has not said how it is read, it is there and cannot be taken over.
    baselines[cluster.name] = "id" in made ? { revision: made.id, replicas, start, former: life.grant } : null;
  }
  if (lives.length === 0) return NO_EARLIER_LIFE;
  const givenUp = new Set((statefulset.spec.failover.confirmedLost ?? []).map(({ name }) => name));
  for (const name of new Set(lives.flatMap((life) => life.clusters))) {
    const isUnseen = clusters.has(name) && memberIn(moment, name).kind === "unreachable";
    if (isUnseen && !givenUp.has(name)) baselines[name] = null;
  }
  return { baselines, token: commonToken(lives) };
}
