import { describe, expect, it } from "vitest";
import { changesOf } from "../src/web/changes.ts";
import type { ApplicationRow, FleetCluster, OverviewView } from "../src/web/types.ts";
import { fleetInOrder, inOrder, runsByCluster, withChanges } from "./overview.ts";

function row(name: string, more: Partial<ApplicationRow> = {}): ApplicationRow {
  const base = {
    type: "ccs",
    namespace: "default",
    kind: "StatefulSet",
    phase: "Settled",
    needsPerson: false,
  } as const;
  return { ...base, name, ready: 3, desired: 3, clusters: [{ name: "member1", count: 3 }], ...more };
}

function cluster(name: string, more: Partial<FleetCluster> = {}): FleetCluster {
  return { name, uid: name, health: "Ready", load: [], taints: [], draining: false, ...more };
}

function view(atMs: number, applications: ApplicationRow[], clusters: FleetCluster[], problems: string[] = []) {
  return { atMs, applications, clusters, problems } satisfies OverviewView;
}

/** Independent of the order, which the page decides. */
function content({ applications, clusters, ...rest }: OverviewView) {
  return { ...rest, applications: inOrder(applications), clusters: fleetInOrder(clusters) };
}

describe("changes of the overview", () => {
  it("turn what a page has into what the server has, through additions, changes and deletions", () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    let applications: ApplicationRow[] = [];
    let clusters: FleetCluster[] = [];
    let shown: OverviewView = view(0, [], []);
    let sent = shown;
    for (let step = 1; step <= 400; step++) {
      const name = `app${random(20)}`;
      const act = random(4);
      if (act === 0) applications = applications.filter((one) => one.name !== name);
      else applications = [...applications.filter((one) => one.name !== name), row(name, { ready: random(4) })];
      const member = `member${random(5)}`;
      clusters = clusters.filter((one) => one.name !== member);
      if (act !== 1) clusters.push(cluster(member, { draining: random(2) === 1 }));
      const now = view(step, applications, clusters, random(9) === 0 ? ["You may not list jobs."] : []);
      const changes = changesOf(sent, now);
      if (!changes) continue;
      const next = withChanges(shown, changes);
      expect(next && content(next)).toEqual(content(now));
      shown = next ?? shown;
      sent = now;
    }
    expect(shown.atMs).toBeGreaterThan(300);
  });

  it("are none if only the objects are new, not what they say", () => {
    const before = view(1, [row("a")], [cluster("member1")]);
    expect(changesOf(before, view(2, [row("a")], [cluster("member1")]))).toBeUndefined();
  });

  it("are small: one of a thousand rows is one row", () => {
    const rows = Array.from({ length: 1000 }, (_, index) => row(`app${index}`));
    const after = rows.map((one) => (one.name === "app500" ? { ...one, phase: "Updating" } : one));
    expect(changesOf(view(1, rows, []), view(2, after, []))?.applications).toEqual([after[500]]);
  });

  it("of another overview than the one that is shown are refused", () => {
    const changes = changesOf(view(1, [], []), view(2, [row("a")], []));
    expect(changes && withChanges(view(7, [row("b")], []), changes)).toBeUndefined();
    expect(changes && withChanges(undefined, changes)).toBeUndefined();
  });
});

describe("the order", () => {
  it("has what needs a person first, then what moves, then the rest by name", () => {
    const rows = [
      row("a"),
      row("d", { phase: "Updating" }),
      row("c", { phase: "Halted" }),
      row("b", { needsPerson: true, phase: "Updating" }),
    ];
    expect(inOrder(rows).map(({ name }) => name)).toEqual(["b", "c", "d", "a"]);
  });

  it("of the fleet has clusters with trouble first, and member2 before member10", () => {
    const clusters = [
      cluster("member10"),
      cluster("member2"),
      cluster("member9", { draining: true }),
      cluster("member11", { health: "NotReady" }),
    ];
    expect(fleetInOrder(clusters).map(({ name }) => name)).toEqual(["member11", "member9", "member2", "member10"]);
  });

  it("lists what runs in each cluster", () => {
    const found = runsByCluster([row("a"), row("b", { clusters: [{ name: "member2", count: 1 }] })]);
    expect(found.get("member1")?.map(({ row: { name }, count }) => [name, count])).toEqual([["a", 3]]);
    expect(found.get("member2")?.map(({ row: { name }, count }) => [name, count])).toEqual([["b", 1]]);
  });
});
