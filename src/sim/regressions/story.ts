import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { appOf, PROGRESS_DEADLINE_S, type Protocol } from "../seed/app.ts";
import type { Happening } from "../seed/happenings.ts";
import type { OcmTraits } from "../seed/ocm.ts";
import type { Tier } from "../seed/run.ts";
import type { Scenario } from "../seed/scenario.ts";

/**
 * A scenario that once found a bug: which application, what happens to it, and when. It does not change when seeds draw
 * other worlds. Defaults are as in most worlds: a quorum, one instance at a time, no faults.
 */
export interface Story {
  /** What must hold. */
  readonly title: string;
  /** The seed that found it; latencies, and the order of two events at one moment, are drawn from it. */
  readonly timing: number;
  /** How many timings are played, its own first: more where the danger exists in some of them only. */
  readonly timings?: number;
  /** By default lean. */
  readonly tier?: Tier;
  /** Situations that must have occurred: without them the story shows nothing. */
  readonly reaches?: readonly string[];
  readonly protocol: Protocol;
  /** Instances in each cluster. */
  readonly replicas: Readonly<Record<string, number>>;
  /** The engine places the instances, instead of spec.topology. */
  readonly scheduled?: true;
  readonly parallel?: true;
  /** Including the StatefulSets' own pods. */
  readonly parallelPods?: true;
  readonly noQuorum?: true;
  readonly minReadySeconds?: number;
  readonly rollingUpdate?: JsonObject;
  /** Fields of spec that the others do not set. */
  readonly spec?: JsonObject;
  readonly standby?: true;
  readonly adoption?: Scenario["adoption"];
  readonly listsMembers?: true;
  readonly labelsLeader?: true;
  readonly engineFailsOver?: true;
  readonly upgrades?: true;
  /**
   * Edits settle before they make a revision, as in production. Otherwise they count at once, which hits more steps in
   * progress.
   */
  readonly settles?: true;
  readonly topologyInlineBytes?: number;
  /** The engine is Open Cluster Management; clusters that are not named have access and do not poll. */
  readonly ocm?: OcmTraits;
  /** From then on there are no faults, and everything must settle. */
  readonly calmAtMs: number;
  readonly ending: Scenario["ending"];
  readonly deletedAtMs?: number;
  readonly happenings: readonly Happening[];
}

const USUAL_UPDATE: JsonObject = {
  maxUnavailable: 1,
  progressDeadlineSeconds: PROGRESS_DEADLINE_S,
  onFailure: "Pause",
};

export function scenarioOfStory(story: Story): Scenario {
  const { ending } = story;
  const app = appOf({
    protocol: story.protocol,
    replicas: story.replicas,
    explicit: !story.scheduled,
    podManagementPolicy: story.parallel ? "Parallel" : "OrderedReady",
    quorum: story.noQuorum ? "None" : "Majority",
    minReadySeconds: story.minReadySeconds ?? 0,
    rollingUpdate: { ...USUAL_UPDATE, ...story.rollingUpdate },
    parallelPods: story.parallelPods ?? false,
    ...(story.ocm && { isInline: true }),
  });
  const deletionPolicy = ending === "keeps running" ? {} : { deletionPolicy: ending };
  return {
    ...app,
    spec: { ...app.spec, ...(!story.settles && { revisionSettleSeconds: 0 }), ...deletionPolicy, ...story.spec },
    seed: story.timing,
    standby: story.standby ?? false,
    happenings: story.happenings,
    calmAtMs: story.calmAtMs,
    ending,
    deletedAtMs: story.deletedAtMs,
    adoption: story.adoption,
    listsMembers: story.listsMembers ?? false,
    labelsLeader: story.labelsLeader ?? false,
    engineFailsOver: story.engineFailsOver ?? false,
    upgrades: story.upgrades ?? false,
    topologyInlineBytes: story.topologyInlineBytes,
    ...(story.ocm && { ocm: story.ocm }),
  };
}

/** A scenario as a story, for a developer who keeps what a seed found. */
export function storyOf(scenario: Scenario, title: string): Story {
  const { spec, template } = scenario;
  const plain: Story = {
    title,
    timing: scenario.seed,
    protocol: scenario.protocol,
    replicas: scenario.replicas,
    ...(!scenario.explicit && { scheduled: true }),
    ...(spec.podManagementPolicy === "Parallel" && { parallel: true }),
    ...(isJsonObject(template.spec) && template.spec.podManagementPolicy === "Parallel" && { parallelPods: true }),
    ...(spec.quorum === "None" && { noQuorum: true }),
    ...(typeof spec.minReadySeconds === "number" &&
      spec.minReadySeconds > 0 && { minReadySeconds: spec.minReadySeconds }),
    ...unusualUpdate(spec),
    ...(scenario.standby && { standby: true }),
    ...(scenario.adoption && { adoption: scenario.adoption }),
    ...(scenario.listsMembers && { listsMembers: true }),
    ...(scenario.labelsLeader && { labelsLeader: true }),
    ...(scenario.engineFailsOver && { engineFailsOver: true }),
    ...(scenario.upgrades && { upgrades: true }),
    ...(spec.revisionSettleSeconds === undefined && { settles: true }),
    ...(scenario.topologyInlineBytes !== undefined && { topologyInlineBytes: scenario.topologyInlineBytes }),
    ...(scenario.ocm && { ocm: scenario.ocm }),
    calmAtMs: scenario.calmAtMs,
    ending: scenario.ending,
    ...(scenario.deletedAtMs !== undefined && { deletedAtMs: scenario.deletedAtMs }),
    happenings: scenario.happenings,
  };
  const usual = scenarioOfStory(plain).spec;
  const differs = Object.entries(spec).filter(([field, value]) => !isDeepStrictEqual(value, usual[field]));
  return differs.length === 0 ? plain : { ...plain, spec: Object.fromEntries(differs) };
}

function unusualUpdate({ updateStrategy }: JsonObject): Pick<Story, "rollingUpdate"> {
  const rolling = isJsonObject(updateStrategy) ? updateStrategy.rollingUpdate : undefined;
  if (!isJsonObject(rolling)) return {};
  const differs = Object.entries(rolling).filter(([field, value]) => USUAL_UPDATE[field] !== value);
  return differs.length === 0 ? {} : { rollingUpdate: Object.fromEntries(differs) };
}
