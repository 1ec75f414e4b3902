import type { Observation, RevisionId } from "../../types/index.ts";
import { APP, type Scenario } from "./scenario.ts";
import type { Member, Pod, Seen } from "./state.ts";

export type Look = "both" | "object" | "pods";

const NO_ANSWER: Seen = { observation: { kind: "unreachable", message: "no answer" }, pods: [] };

/** `pods` or `object` alone: the two watches of a StatefulSet deliver at different times. */
export function look(scenario: Scenario, member: Member, leads: boolean, before: Seen | null, what: Look): Seen {
  if (member.cut) return NO_ANSWER;
  const pods = what === "object" ? (before?.pods ?? []) : member.pods;
  const object =
    what === "pods"
      ? (before?.observation ?? { kind: "unreachable", message: "not observed yet" })
      : objectOf(scenario, member, leads);
  const updateRevision = what === "pods" ? before?.updateRevision : member.status?.updateRevision;
  const observation = withPods(scenario, object, pods, updateRevision);
  return updateRevision === undefined ? { observation, pods } : { observation, pods, updateRevision };
}

/** The controller has seen the pods: an action that names them now means these. */
export function podsSeen(member: Member): Member {
  if (member.pods.every(({ since }) => since === "same")) return member;
  return { ...member, pods: member.pods.map((pod) => (pod.since === "same" ? pod : { ...pod, since: "same" })) };
}

function objectOf(scenario: Scenario, member: Member, leads: boolean): Observation {
  const volumes = scenario.seesVolumes ? { volumes: member.volumes } : {};
  if (!member.live) return { kind: "absent", ...volumes };
  const { status, report, live } = member;
  const { epoch, revision, processor, partition, topologyVersion, transferLeaderTo, replicas } = live;
  const contract = scenario.protocol === "contract";
  const ready = (contract ? report?.ready : status?.ready) ?? 0;
  const updated = (contract ? report?.updated : status?.updated) ?? 0;
  return {
    kind: "present",
    generation: 1,
    ...(contract ? {} : { observedGeneration: member.observed ? 1 : 0 }),
    live:
      epoch === undefined
        ? { replicas }
        : {
            epoch,
            revision,
            processor,
            partition,
            ...(topologyVersion === undefined ? {} : { topologyVersion }),
            replicas,
            ...(transferLeaderTo === undefined ? {} : { transferLeaderTo }),
          },
    counts: contract ? { ready, updated } : { replicas: status?.replicas ?? 0, ready, available: ready, updated },
    health: member.mute ? "unknown" : ready >= replicas ? "healthy" : "unhealthy",
    ...(contract && report ? { report } : {}),
    leader: { kind: leads ? "here" : "elsewhere" },
    ...volumes,
  };
}

/** In PerCluster each cluster counts from 0. */
function localOf({ intent: { identity } }: Scenario, ordinal: number): number {
  return identity.mode === "PerCluster" ? ordinal % identity.blockSize : ordinal;
}

/** Only a StatefulSet's pods are listed; an operator's own instances are its own business. */
function withPods(
  scenario: Scenario,
  seen: Observation,
  pods: readonly Pod[],
  updateRevision: RevisionId | undefined,
): Observation {
  if (seen.kind !== "present" || scenario.protocol !== "statefulset") return seen;
  return {
    ...seen,
    counts: { ...seen.counts, terminating: pods.filter(({ phase }) => phase === "terminating").length },
    instances: pods.map(({ ordinal, revision, phase, evicted }) => ({
      name: `${APP}-${localOf(scenario, ordinal)}`,
      uid: `${ordinal}`,
      version: "as seen",
      ordinal: localOf(scenario, ordinal),
      ...(evicted ? { disrupted: true } : {}),
      ...(updateRevision === undefined ? {} : { updated: revision === updateRevision }),
      // A pod that terminates still passes its readiness probe for a while.
      ready: phase !== "starting",
      terminating: phase === "terminating",
    })),
  };
}
