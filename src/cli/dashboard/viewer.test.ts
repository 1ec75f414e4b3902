/** A viewer of the page, against a fleet with the real controller, on virtual time. */
import { beforeAll, describe, expect, it } from "vitest";
import { CROSS_CLUSTER_STATEFULSETS } from "../../embedded/testing/world.ts";
import {
  type HttpRequest,
  type HttpResponse,
  isJsonObject,
  seededRandom,
  type Transport,
} from "../../runtime/index.ts";
import type { Act, LiveEvent, Topic } from "../../web/index.ts";
import { seenOf } from "../hub/seen.ts";
import { CliWorld, exampleObjects, exampleTemplate } from "../testing/harness.ts";
import { HubViewer } from "./viewer.ts";

const AT = { type: "ccs", namespace: "default", name: "web" } as const;

function viewerOf({ world }: CliWorld, transport: Transport = world.fleet.hub.transport()): HubViewer {
  return new HubViewer({
    connection: { transport, context: "hub", server: "https://hub.test", namespace: "default", close: async () => {} },
    user: "ada",
    clock: world.clock,
    random: seededRandom(1),
    program: "lockstep",
  });
}

describe("an act that a person has confirmed", () => {
  const cli = new CliWorld(41);
  const { world } = cli;
  const viewer = viewerOf(cli);
  const object = () => world.ask(world.hub.get(CROSS_CLUSTER_STATEFULSETS, AT));
  const act = (what: Pick<Act, "action" | "seen"> & Partial<Act>) => world.clock.run(viewer.act({ ...AT, ...what }));
  const rollout = () => {
    const { rollout: found } = world.status("web");
    return isJsonObject(found) ? found : {};
  };

  beforeAll(async () => {
    await world.start();
    const waves = [
      { clusters: ["member3"], approval: "Manual" },
      { clusters: ["member2"], soakSeconds: 3_600 },
    ];
    for (const one of exampleObjects("nginx:1.27", { updateStrategy: { rollingUpdate: { waves } } }))
      await world.apply(one);
    await world.until("deployed", () => world.isSettled("web", 5));
    await world.apply(exampleTemplate("nginx:1.28"));
    await world.until("it waits", () => rollout().awaitingApproval === true);
  });

  it("is refused with 409 and changes nothing if the rollout goes to another revision by now", async () => {
    const seen = seenOf(await object());
    await world.apply(exampleTemplate("nginx:1.29"));
    await world.until(
      "the other one waits",
      () => rollout().to !== seen.revision && rollout().awaitingApproval === true,
    );
    const before = await object();
    for (const action of ["approve", "promote", "abort", "resume", "undo"] as const) {
      await expect(act({ action, seen }), action).rejects.toMatchObject({
        name: "Refused",
        status: 409,
        message: expect.stringMatching(/has changed since you looked: it was to run revision .* Nothing was done\./),
      });
    }
    const after = await object();
    expect(after.spec).toEqual(before.spec);
    expect(rollout()).toMatchObject({ awaitingApproval: true, wave: 1 });
  });

  it("is refused if another object has the name by now", async () => {
    const seen = { ...seenOf(await object()), uid: "another" };
    for (const action of ["pause", "resume", "approve", "promote", "abort", "undo"] as const) {
      await expect(act({ action, seen }), action).rejects.toMatchObject({ status: 409 });
    }
  });

  it("is carried out on what was seen, and only once for one wave", async () => {
    const seen = seenOf(await object());
    expect(await act({ action: "approve", seen })).toContain(
      "wave 1 of CrossClusterStatefulset default/web is approved",
    );
    await world.until("the next wave soaks", () => rollout().wave === 2 && rollout().soakUntil !== undefined);
    await expect(act({ action: "promote", seen })).rejects.toThrow("it was at wave 1, and is now at wave 2");
    await act({ action: "pause", seen });
    await act({ action: "resume", seen });
    expect(await act({ action: "promote", seen: seenOf(await object()) })).toContain("past the soak of wave 2");
  });
});

describe("[R10] a rollout of the past", () => {
  const cli = new CliWorld(42);
  const { world } = cli;
  beforeAll(() => cli.deploy());

  it("is shown step by step, with what held it, from the status alone, when others have followed it", async () => {
    const first = String(world.status("web").updateRevision);
    const rollOut = async (image: string): Promise<string> => {
      const before = world.status("web").updateRevision;
      await world.apply(exampleTemplate(image));
      await world.until("it is rolled out", () => {
        const { updateRevision, rollout } = world.status("web");
        return updateRevision !== before && rollout === undefined && world.isSettled("web", 5);
      });
      return String(world.status("web").updateRevision);
    };
    const second = await rollOut("nginx:1.28");
    await rollOut("nginx:1.29");
    const of = (revision: string) => world.clock.run(viewerOf(cli).record({ ...AT, revision }));
    const { type, from, timeline } = await of(second);
    expect({ type, from }).toEqual({ type: "Update", from: first });
    expect(timeline.spans.map(({ what, cluster }) => `${what} ${cluster}`)).toEqual([
      "Updating member3",
      "Updating member2",
      "Updating member1",
    ]);
    for (const { fromMs, toMs, why } of timeline.spans) {
      expect(toMs).toBeGreaterThan(fromMs);
      expect(why).not.toBe("");
    }
    expect(timeline.holds.map(({ reason }) => reason)).toContain("WaitingForReady");
    expect([...timeline.spans, ...timeline.holds].filter(({ toMs }) => toMs === undefined)).toEqual([]);
    expect((await of(first)).type).toBe("Deploy");
    await expect(of("web-never")).rejects.toMatchObject({ status: 404 });
  });
});

describe("a live page", () => {
  const cli = new CliWorld(43);
  const { world } = cli;
  beforeAll(() => cli.deploy());
  const APPLICATION: Topic = { kind: "application", ...AT };
  const OVERVIEW: Topic = { kind: "overview" };

  /** The first event for which this holds, and all before it. `answer`: instead of the hub's; "never": it is silent. */
  async function until(
    topic: Topic,
    holds: (event: LiveEvent) => boolean,
    answer: (request: HttpRequest) => HttpResponse | "never" | undefined = () => undefined,
  ): Promise<LiveEvent[]> {
    const hub = world.fleet.hub.transport();
    const transport: Transport = {
      request: (request) => {
        const instead = answer(request);
        if (instead !== "never") return instead ? Promise.resolve(instead) : hub.request(request);
        return new Promise((_, reject) =>
          request.signal?.addEventListener("abort", () => reject(new Error("aborted"))),
        );
      },
      stream: (request) => hub.stream(request),
    };
    const events: LiveEvent[] = [];
    const stop = new AbortController();
    const send = (event: LiveEvent) => {
      events.push(event);
      if (holds(event)) stop.abort();
    };
    await world.clock.run(viewerOf(cli, transport).watch(topic, send, stop.signal));
    return events;
  }

  const json = (status: number, body: object): HttpResponse => ({
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const isReview = ({ path }: HttpRequest) => path.includes("selfsubjectaccessreviews");
  /** The hub answers that this verb on this kind is not allowed. */
  const denies = (verb: string, plural: string) => (request: HttpRequest) => {
    const { resource, verb: asked } = isReview(request)
      ? JSON.parse(request.body ?? "{}").spec.resourceAttributes
      : { resource: "", verb: "" };
    return resource === plural && asked === verb ? json(201, { status: { allowed: false } }) : undefined;
  };

  it("of an application begins with its Events and its rights, never without", async () => {
    const [first] = await until(APPLICATION, ({ event }) => event === "application");
    expect(first?.event === "application" && first.data.timeline.spans.length).toBeGreaterThan(0);
    expect(first?.event === "application" && first.data.actions).toMatchObject([{ action: "pause", allowed: true }]);
  });

  it("says that Events cannot be read, from the first picture on", async () => {
    const [first] = await until(
      APPLICATION,
      ({ event }) => event === "application",
      ({ path }) => (/\/events(\?|$)/.test(path) ? json(500, { kind: "Status", code: 500 }) : undefined),
    );
    expect(first?.event === "application" && first.data.timeline.problem).toMatch(/^The Events cannot be read: /);
  });

  it("shows each right by itself: who may change may not approve, and the other way round", async () => {
    const [first] = await until(
      APPLICATION,
      ({ event }) => event === "application",
      denies("patch", "crossclusterstatefulsets"),
    );
    expect(first?.event === "application" && first.data.actions).toMatchObject([
      { action: "pause", allowed: false, reason: expect.stringContaining("You do not have the right to patch") },
    ]);
    const [second] = await until(OVERVIEW, ({ event }) => event === "overview", denies("patch", "clusters"));
    expect(second?.event === "overview" && second.data.mayDrain).toBe(false);
    expect(second?.event === "overview" && second.data.applications).toHaveLength(1);
  });

  it("keeps nothing of what the viewer may no longer read, although the watch is still open", async () => {
    let isTaken = false;
    const taken = (verb: string, plural: string) => (request: HttpRequest) =>
      isTaken ? denies(verb, plural)(request) : undefined;
    const rows = await until(
      OVERVIEW,
      (event) => {
        if (event.event !== "overview") return false;
        isTaken = true;
        return event.data.applications.length === 0;
      },
      taken("list", "crossclusterstatefulsets"),
    );
    expect(rows[0]?.event === "overview" && rows[0].data.applications).toHaveLength(1);
    const last = rows.at(-1);
    expect(last?.event === "overview" && last.data.problems).toEqual([
      "You may not list crossclusterstatefulsets in all namespaces.",
    ]);
    isTaken = false;
    const shown = await until(
      APPLICATION,
      ({ event }) => {
        isTaken = true;
        return event === "trouble";
      },
      taken("watch", "crossclusterstatefulsets"),
    );
    expect(shown.at(-1)).toEqual({
      event: "trouble",
      data: { message: "You may not watch CrossClusterStatefulset default/web.", gone: true },
    });
  });

  it("says that the hub is silent although its watch seems to be open", async () => {
    let isFrozen = false;
    for (const topic of [APPLICATION, OVERVIEW]) {
      isFrozen = false;
      const beginMs = world.clock.now();
      const events = await until(
        topic,
        ({ event }) => {
          isFrozen = true;
          return event === "trouble";
        },
        () => (isFrozen ? "never" : undefined),
      );
      expect(events.at(-1)).toMatchObject({
        data: { message: expect.stringMatching(/^The hub has not answered since \d\d:\d\d:\d\d UTC$/), gone: false },
      });
      expect(world.clock.now() - beginMs).toBeLessThan(30_000);
    }
  });

  it("ends with the sign-in when the hub no longer accepts the credentials", async () => {
    const events = await until(
      APPLICATION,
      ({ event }) => event === "signed-out",
      (request) => (isReview(request) ? json(401, { kind: "Status", code: 401, message: "expired" }) : undefined),
    );
    expect(events).toEqual([
      { event: "signed-out", data: { message: expect.stringContaining("have expired. Sign in again.") } },
    ]);
  });

  it("says that the clusters cannot be read, instead of showing none", async () => {
    const events = await until(
      OVERVIEW,
      ({ event }) => event === "overview",
      ({ method, path }) =>
        method === "GET" && /\/clusters(\?|$)/.test(path) ? json(500, { kind: "Status", code: 500 }) : undefined,
    );
    const last = events.at(-1);
    expect(last?.event === "overview" && last.data.problems).toEqual([
      expect.stringMatching(/^The clusters of the fleet cannot be read: /),
    ]);
  });

  it("of an object that is deleted says so", async () => {
    const gone: Topic = { kind: "application", ...AT, name: "never" };
    expect((await until(gone, ({ event }) => event === "trouble")).at(-1)).toEqual({
      event: "trouble",
      data: {
        message: "CrossClusterStatefulset default/never does not exist: it was deleted, or was never there.",
        gone: true,
      },
    });
  });

  it("is refused with 401 when it acts with credentials that have expired", async () => {
    const hub = world.fleet.hub.transport();
    const expired: Transport = { ...hub, request: async () => json(401, { kind: "Status", code: 401, message: "no" }) };
    const act = { ...AT, action: "pause" as const, seen: { uid: "1", past: [] } };
    await expect(world.clock.run(viewerOf(cli, expired).act(act))).rejects.toMatchObject({ status: 401 });
  });
});
