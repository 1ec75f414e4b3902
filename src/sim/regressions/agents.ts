import type { Story } from "./story.ts";

const BY_REPORTS = { access: false, polls: false };
const POLLS = { access: false, polls: true };

/** Clusters of Open Cluster Management that only their agents' reports show. */
export const AGENTS: readonly Story[] = [
  {
    title: "another writer that recreates a drained cluster's object does not keep the cluster from being let go",
    timing: 745,
    protocol: "contract",
    replicas: { member1: 1, member2: 1, member3: 1 },
    parallel: true,
    ocm: { joined: { member1: BY_REPORTS, member2: BY_REPORTS, member3: BY_REPORTS } },
    calmAtMs: 53_000,
    ending: "keeps running",
    happenings: [
      { atMs: 39_169, kind: "drain", cluster: "member2" },
      // Just before the agent deletes the object, so that its own copy arrives afterwards.
      { atMs: 42_110, kind: "rival", cluster: "member2", forMs: 3000 },
    ],
  },
  {
    title: "a first grant that arrived and was never seen is recognized, although its ManifestWork was deleted",
    timing: 771,
    protocol: "statefulset",
    replicas: { member1: 2, member2: 1 },
    parallelPods: true,
    minReadySeconds: 3,
    standby: true,
    ocm: { joined: { member1: POLLS, member2: POLLS } },
    calmAtMs: 96_000,
    ending: "keeps running",
    happenings: [
      { atMs: 0, kind: "crash at write", write: 17, point: "crash before" },
      { atMs: 14_511, kind: "cut", cluster: "member2", forMs: 60_000 },
      { atMs: 24_628, kind: "tear off", cluster: "member2" },
      { atMs: 39_485, kind: "tear off", cluster: "member2" },
    ],
  },
  {
    title: "a drained StatefulSet that only reports show is seen to be gone, and torn down with the others",
    timing: 601,
    timings: 1,
    protocol: "statefulset",
    replicas: { member1: 1, member2: 1 },
    ocm: { joined: { member1: BY_REPORTS, member2: POLLS } },
    calmAtMs: 45_000,
    ending: "Teardown",
    happenings: [{ atMs: 30_000, kind: "drain", cluster: "member2" }],
  },
  {
    title: "a new leader that has nothing to write asks the agents for signs of life itself",
    timing: 602,
    timings: 1,
    protocol: "statefulset",
    replicas: { member1: 1, member2: 1 },
    standby: true,
    ocm: { joined: { member1: BY_REPORTS, member2: BY_REPORTS } },
    calmAtMs: 90_000,
    ending: "keeps running",
    happenings: [{ atMs: 40_000, kind: "pause leader", forMs: 45_000, clockStands: true }],
  },
  {
    title: "a removal continues when an agent that died in its middle is back",
    timing: 603,
    timings: 1,
    protocol: "statefulset",
    replicas: { member1: 1, member2: 1 },
    ocm: { joined: { member1: BY_REPORTS, member2: BY_REPORTS } },
    calmAtMs: 120_000,
    ending: "keeps running",
    happenings: [
      { atMs: 30_000, kind: "drain", cluster: "member2" },
      { atMs: 33_500, kind: "agent dies", cluster: "member2", forMs: 60_000, workOnly: true },
    ],
  },
  {
    title: "a silent cluster that answers again is news, and what waited for it continues",
    timing: 604,
    timings: 1,
    protocol: "contract",
    replicas: { member1: 1, member2: 1 },
    ocm: { joined: { member1: BY_REPORTS, member2: BY_REPORTS } },
    calmAtMs: 120_000,
    ending: "keeps running",
    happenings: [
      { atMs: 25_000, kind: "agent dies", cluster: "member2", forMs: 80_000, workOnly: true },
      { atMs: 30_000, kind: "edit", image: "app:2" },
    ],
  },
  {
    title: "topology parts that no grant names any more are removed through their agents",
    timing: 681,
    timings: 1,
    protocol: "contract",
    replicas: { member1: 2, member2: 1 },
    topologyInlineBytes: 100,
    ocm: { joined: { member1: BY_REPORTS, member2: POLLS } },
    calmAtMs: 70_000,
    ending: "keeps running",
    happenings: [
      { atMs: 25_000, kind: "scale", cluster: "member1", by: 1 },
      { atMs: 40_000, kind: "scale", cluster: "member1", by: -1 },
    ],
  },
];
