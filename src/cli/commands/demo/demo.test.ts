/** The demos on a fleet with the real controller and the example of `up`, on virtual time. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubeconfigText } from "../../../apiserver/front/index.ts";
import { PodRecorder, World } from "../../../embedded/testing/world.ts";
import { isJsonObject, type Transport } from "../../../runtime/index.ts";
import { runCli } from "../../program.ts";
import type { Io } from "../../terminal/io.ts";
import { runAlone, type TestIoOptions, testIo } from "../../testing/harness.ts";
import { applyHold, applyTemplate, STATEFULSET_EXAMPLE } from "../up/example.ts";
import { type Cast, changesBetween, type Instance, keyOf, type Scene, WorstSeen } from "./scene.ts";
import { expendable, nextImage } from "./stories.ts";
// Loaded beforehand: reading it from disk while virtual time passes would make the demo depend on the disk.
import "./run.ts";

const UP = { ".lockstep/kubeconfig": kubeconfigText([]) };

class Theatre {
  readonly world: World;
  readonly pods: PodRecorder;

  constructor(seed: number, members?: string[]) {
    this.world = new World(seed, members && { members });
    this.pods = new PodRecorder(this.world.fleet);
  }

  async deploy(): Promise<void> {
    const { world } = this;
    if (!world.fleet.hubObject("/namespaces", "", "karmada-system")) await world.start();
    await world.ask(applyHold(world.hub, STATEFULSET_EXAMPLE, world.fleet.memberNames));
    await world.until("the template is held", () => world.status("web").observedGeneration !== undefined);
    await world.ask(applyTemplate(world.hub, STATEFULSET_EXAMPLE));
    await world.until("the example is deployed", () => world.isSettled("web", 5));
    this.pods.expect(5);
  }

  /** Members are reached directly, by their contexts, as in the kubeconfig of `up`. */
  io(options: TestIoOptions = {}): Io & { out: string[]; err: string[] } {
    const { clock, fleet } = this.world;
    const hub = fleet.hub.transport();
    const transport: Transport = {
      request: async (request) => options.intercept?.(request) ?? hub.request(request),
      stream: (request) => hub.stream(request),
    };
    const io = testIo(clock, transport, { files: UP, ...options });
    return {
      ...io,
      connect: async ({ kubeconfig, context }) => {
        const connection = await io.connect({ kubeconfig, context });
        if (context === undefined) return connection;
        return { ...connection, transport: fleet.member(context).entrance.transport() };
      },
    };
  }

  async play(args: readonly string[], options: TestIoOptions = {}) {
    const io = this.io(options);
    const code = await this.world.clock.run(runCli(["demo", ...args], io));
    return { code, out: io.out.join(""), err: io.err.join("") };
  }

  /** Ctrl-C as soon as the demo has printed this. */
  interrupt(args: readonly string[], when: string) {
    const stop = new AbortController();
    const interrupt = () => stop.abort(new Error("stopped by SIGINT"));
    return this.until(args, when, interrupt, { interrupted: stop.signal });
  }

  /** Something happens as soon as the demo has printed this. */
  async until(args: readonly string[], when: string, happens: () => void, options: TestIoOptions = {}) {
    const io = this.io(options);
    const write = (text: string) => {
      io.out.push(text);
      if (text.includes(when)) happens();
    };
    const code = await this.world.clock.run(runCli(["demo", ...args], { ...io, stdout: { ...io.stdout, write } }));
    return { code, out: io.out.join(""), err: io.err.join("") };
  }

  /** A field of the example's spec. */
  spec(field: string): unknown {
    const spec = this.world.statefulset("web")?.spec;
    return isJsonObject(spec) ? spec[field] : undefined;
  }
}

/** The output without its times, and without the number that every update increments. */
function told(out: string): string[] {
  return out.split("\n").map((line) => line.replace(/^ *[\d.]+ s {2}/, "").replace(/web:1\.\d+/, "web:NEW"));
}

const UPDATE_LINES = [
  "the template's image is now example.com/web:NEW; no cluster gets it before its turn",
  "member3  has its turn: the highest ordinals go first (5 of 5 ready, 3 needed)",
  "member3  web-200 goes down (4 of 5 ready)",
  "member3  web-200 is ready again, on example.com/web:NEW (5 of 5 ready)",
  "member3  is done: 1 of 1 ready, its gate opens",
  "member2  has its turn: the highest ordinals go first (5 of 5 ready, 3 needed)",
  "member2  web-101 goes down (4 of 5 ready)",
  "member2  web-101 is ready again, on example.com/web:NEW (5 of 5 ready)",
  "member2  web-100 goes down (4 of 5 ready)",
  "member2  web-100 is ready again, on example.com/web:NEW (5 of 5 ready)",
  "member2  is done: 2 of 2 ready, its gate opens",
  "member1  has its turn: all others are done (5 of 5 ready, 3 needed)",
  "member1  web-1 goes down (4 of 5 ready)",
  "member1  web-1 is ready again, on example.com/web:NEW (5 of 5 ready)",
  "member1  web-0 goes down (4 of 5 ready)",
  "member1  web-0 is ready again, on example.com/web:NEW (5 of 5 ready)",
  "member1  is done: 2 of 2 ready, its gate opens",
];

describe("on a running fleet", () => {
  const theatre = new Theatre(1);
  const { world, pods } = theatre;
  beforeAll(() => theatre.deploy());
  afterAll(() => world.stop());

  it("update shows each cluster's turn before its effects, one instance down at a time", async () => {
    pods.expect(5);
    const before = pods.images();
    const { code, out, err } = await theatre.play(["update"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const lines = told(out);
    expect(lines.slice(0, UPDATE_LINES.length)).toEqual(UPDATE_LINES);
    const [, steps, down, quorum] = lines.slice(UPDATE_LINES.length);
    expect(steps).toMatch(/^5 instances on example\.com\/web:NEW in 3 steps and \d+\.\d seconds\.$/);
    expect(down).toBe("Most instances down at once: 1 (1 allowed).");
    expect(quorum).toBe("Quorum kept: never fewer than 4 of 5 ready and reachable, 3 needed.");
    expect(pods.worst).toBe(1);
    const [image, ...others] = new Set(Object.values(pods.images()));
    expect(others).toEqual([]);
    expect(image).not.toBe(before["member1/web-0"]);
  });

  it("scale grows by two, renumbers no instance and shrinks back", async () => {
    const replicas = theatre.spec("replicas");
    const { code, out } = await theatre.play(["scale"]);
    expect(code).toBe(0);
    const same =
      "web-0 web-1 web-100 web-101 web-200 are the same as before, and member1/web-2, member2/web-102 are new";
    expect(told(out)).toEqual(
      expect.arrayContaining([
        "member1  has its turn: it gets one more instance; instances join one at a time",
        "member1  web-2 has joined, with its own number",
        `no instance was renumbered or restarted: ${same}`,
        "member2  web-102 leaves",
        "The same 5 instances run as before: none renumbered, none restarted.",
        "Most of them down at once: 0.",
      ]),
    );
    expect(out).toContain("From 5 to 7 instances and back in 4 steps");
    expect(theatre.spec("replicas")).toEqual(replicas);
    expect(world.isSettled("web", 5)).toBe(true);
  });

  it("lose-cluster updates the rest within quorum, deletes nothing, and sees the cluster catch up", async () => {
    pods.expect(5);
    const failover = theatre.spec("failover");
    const { code, out } = await theatre.play(["lose-cluster"]);
    expect(code).toBe(0);
    const lines = told(out);
    const at = (line: string) => {
      expect(lines).toContain(line);
      return lines.indexOf(line);
    };
    const order = [
      at("member3  is disconnected from the hub; its instances keep running: web-200"),
      at("member3  is unreachable: its instances count as down, so no other instance is taken down"),
      at("member3  counts as lost: nothing there is deleted, its votes still count, and the others continue"),
      at("member2  has its turn: the highest ordinals go first (4 of 5 ready, 3 needed)"),
      at("member2  web-101 goes down (3 of 5 ready and reachable)"),
      at("member1  is done: 2 of 2 ready, its gate opens"),
      at("member3  read directly: web-200 still exists unchanged; nothing was deleted"),
      at("member3  is connected again"),
      at("member3  is back"),
      at("member3  has its turn: it is back, and all others are done (5 of 5 ready, 3 needed)"),
      at("member3  web-200 is ready again, on example.com/web:NEW (5 of 5 ready)"),
      at("Nothing in member3 was deleted or replaced while it was disconnected."),
      at("Most instances down at once: 1 (1 allowed)."),
      at("Quorum kept: never fewer than 3 of 5 ready and reachable, 3 needed."),
    ];
    expect(order).toEqual([...order].sort((left, right) => left - right));
    expect(pods.worst).toBe(1);
    expect(theatre.spec("failover")).toEqual(failover);
    expect(world.fleet.state("member3").reachable).toBe(true);
  });

  it("on a terminal the tree is redrawn, and the printed lines stay", async () => {
    const { code, out } = await theatre.play(["scale"], { terminal: true });
    expect(code).toBe(0);
    const pictures = out.split("\u001b[H\u001b[J");
    expect(pictures.length).toBeGreaterThan(5);
    expect(pictures.some((picture) => /Scaling[\s\S]*├─[\s\S]*member1 {2}has its turn/.test(picture))).toBe(true);
    const [, after = ""] = out.split("\u001b[?1049l");
    expect(after).toContain("web-2 has joined");
    expect(after).toContain("none renumbered, none restarted");
  });

  it("Ctrl-C restores everything: the connection, the setting and the template", async () => {
    const [failover, images] = [theatre.spec("failover"), pods.images()];
    const { code, out } = await theatre.interrupt(["lose-cluster"], "member2  has its turn");
    expect(code).toBe(130);
    expect(out).toMatch(
      /Interrupted\.\nRestored: the template's image, the connection to member3, failover\.afterSeconds 300\.\n$/,
    );
    expect(world.fleet.state("member3").reachable).toBe(true);
    expect(theatre.spec("failover")).toEqual(failover);
    await world.until("everything is restored", () => world.isSettled("web", 5));
    expect(pods.images()).toEqual(images);

    const scaled = await theatre.interrupt(["scale"], "web-2 has joined");
    expect(scaled.out).toContain("Restored: 5 instances.");
    await world.until("everything is restored", () => world.isSettled("web", 5));
    expect(pods.images()).toEqual(images);
  });

  it("the end of `up` during a demo is reported, with what could not be restored", async () => {
    const { code, out, err } = await theatre.until(["scale"], "web-2 has joined", () =>
      world.fleet.hub.set({ closed: "connection refused" }),
    );
    world.fleet.hub.mend();
    expect(code).toBe(1);
    expect(out).toMatch(/Could not be restored: 5 instances \(the API server could not be reached/);
    expect(err).toContain("no longer answers. Is 'lockstep up' still running?");
    const { templates, at } = STATEFULSET_EXAMPLE;
    await world.ask(world.hub.patch(templates, at, { type: "merge", body: { spec: { replicas: 5 } } }));
    await world.until("everything is restored", () => world.isSettled("web", 5));
  });

  it("a running demo prevents another one from starting", async () => {
    const first = runCli(["demo", "update"], theatre.io());
    await world.until("it has started", () => world.status("web").phase === "Updating");
    const second = await theatre.play(["scale"]);
    expect(second).toMatchObject({ code: 1, out: "" });
    expect(second.err).toMatch(/default\/web is not settled: it is Updating.*lockstep status web -w/);
    expect(await world.clock.run(first)).toBe(0);
  });

  it("a concurrent change by another user is kept: nothing is restored over it", async () => {
    const taken = { kind: "Status", status: "Failure", reason: "Conflict", code: 409, message: "changed" };
    const { code, out, err } = await theatre.play(["update"], {
      intercept: ({ method, path }) =>
        method === "PATCH" && path.includes("/statefulsets/web")
          ? { status: 409, headers: { "content-type": "application/json" }, body: JSON.stringify(taken) }
          : undefined,
    });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("another user changed it at the same time");
  });

  it("a cluster that a killed demo left disconnected is named, and reconnected on request", async () => {
    world.fleet.cut("member2");
    const { code, err } = await theatre.play(["update"]);
    expect(code).toBe(1);
    expect(err).toMatch(/member2 is disconnected: a demo is running.*lockstep demo lose-cluster --mend/);
    expect(await theatre.play(["lose-cluster", "--mend"])).toMatchObject({
      code: 0,
      out: "member2 is connected again\n",
    });
    expect(world.fleet.state("member2").reachable).toBe(true);
    expect((await theatre.play(["lose-cluster", "--mend"])).out).toBe("no cluster is disconnected\n");
    await world.until("it is settled", () => world.isSettled("web", 5));
  });
});

describe("with more clusters than instances", () => {
  const theatre = new Theatre(
    3,
    Array.from({ length: 12 }, (_, at) => `member${at + 1}`),
  );
  const { world } = theatre;
  const used = () => {
    const { clusters } = world.status("web");
    return (Array.isArray(clusters) ? clusters.filter(isJsonObject) : []).map(({ name }) => name);
  };
  beforeAll(() => theatre.deploy());
  afterAll(() => world.stop());

  it("instances are in the first of them, in natural order", () => {
    expect(used()).toEqual(["member1", "member2", "member3", "member4", "member5"]);
  });

  it("growing reaches clusters that had none, as the policy requires", async () => {
    const io = theatre.io();
    const code = await world.clock.run(runCli(["scale", "web", "--replicas", "7"], io));
    expect({ code, out: io.out.join("") }).toEqual({
      code: 0,
      out: "StatefulSet default/web is scaled to 7; the engine's scheduler chooses the clusters, and membership changes follow one at a time\n",
    });
    await world.until("it has seven", () => world.isSettled("web", 7));
    expect(used()).toEqual(["member1", "member2", "member3", "member4", "member5", "member6", "member7"]);
    const { code: played, out } = await theatre.play(["scale"]);
    expect(played).toBe(0);
    expect(out).toContain("and member8/web-700, member9/web-800 are new");
  });
});

describe("where no demo can run", () => {
  it("no kubeconfig of up, or no server behind it", async () => {
    expect(await runAlone(["demo", "update"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no fleet runs here: \.lockstep\/kubeconfig does not exist.*'lockstep up'/),
    });
    expect(await runAlone(["demo", "update"], { files: UP })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no fleet answers at https:\/\/hub\.test: 'lockstep up' has ended/),
    });
  });

  it("a hub that is not up's, a fleet without the example, and too few clusters", async () => {
    const theatre = new Theatre(2, ["member1"]);
    const { world } = theatre;
    await world.start();
    const foreign = await theatre.play(["update"], {
      intercept: ({ path }) => (path.startsWith("/lockstep/") ? { status: 404, headers: {}, body: "" } : undefined),
    });
    expect(foreign.err).toMatch(/is not a fleet of 'lockstep up' \(404.*never on a real hub/);
    expect((await theatre.play(["update"])).err).toMatch(
      /this fleet has no example: .*default\/web, .*examples\/statefulset/,
    );
    await theatre.deploy();
    const alone = await theatre.play(["lose-cluster"]);
    expect(alone).toMatchObject({ code: 1, out: "" });
    expect(alone.err).toContain("with 5 in member1 no cluster can be lost");
    expect(alone.err).toContain("--clusters 3");
    await world.stop();
  });
});

describe("the figures", () => {
  const instance = (name: string, ready: boolean, uid = "1"): Instance => {
    return { cluster: "c", name, uid, ready, image: "web:1" };
  };
  const scene = (...instances: Instance[]): Scene => {
    const byKey = new Map(instances.map((one) => [keyOf(one), one]));
    return { status: {}, isCurrent: true, clusters: [], instances: byKey, cut: undefined };
  };
  const cast: Cast = new Set(["c/web-0", "c/web-1"]);

  it("count what two successive observations show, not a difference caused by one cluster's earlier events", () => {
    const both = scene(instance("web-0", false), instance("web-1", false));
    const one = scene(instance("web-0", false), instance("web-1", true));
    const none = scene(instance("web-0", true), instance("web-1", true));
    const worst = new WorstSeen(cast);
    for (const each of [none, one, both, one]) worst.add(each);
    expect(worst).toMatchObject({ mostDown: 1, leastReady: 1 });
    for (const each of [both, both]) worst.add(each);
    expect(worst).toMatchObject({ mostDown: 2, leastReady: 0 });
  });

  it("an instance that was replaced between two observations is reported", () => {
    const [before, after] = ["1", "2"].map((uid) => scene(instance("web-0", true, uid), instance("web-1", true)));
    if (!before || !after) throw new Error("two scenes are there");
    expect(changesBetween(before, after, cast)).toEqual(["c  web-0 is ready again, on web:1 (2 of 2 ready)"]);
    expect(changesBetween(after, after, cast)).toEqual([]);
  });

  it("the lost cluster is the smallest, and the others keep their majority with one more down", () => {
    expect(expendable(new Set(["a/web-0", "a/web-1", "b/web-100", "b/web-101", "c/web-200"]))).toBe("c");
    expect(() => expendable(new Set(["a/web-0", "a/web-1", "a/web-2", "b/web-100", "b/web-101"]))).toThrow(
      "with 3 in a, 2 in b no cluster can be lost while the others are updated within quorum (3 of 5)",
    );
  });

  it("the number of a tag is incremented; a tag without a number gets one", () => {
    const images = ["example.com/web:1.0", "web:1.9", "web:v7", "localhost:5000/web", "web:latest"];
    expect(images.map(nextImage)).toEqual([
      "example.com/web:1.1",
      "web:1.10",
      "web:v8",
      "localhost:5000/web:1.1",
      "web:1.1",
    ]);
  });
});
