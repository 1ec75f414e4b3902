import fc from "fast-check";
import { expect, it } from "vitest";
import { type Clock, lineLog, seededRandom } from "../runtime/index.ts";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { KubeClient } from "./client.ts";
import { Election, type ElectionOptions, type Leadership } from "./election.ts";
import { FakeApi } from "./testing/fake-api.ts";
import { Partition } from "./testing/partition.ts";
import { leases } from "./testing/resources.ts";

class Candidate {
  readonly base: VirtualClock;
  readonly link: Partition;
  readonly election: Election;
  readonly stop = new AbortController();
  readonly terms: number[] = [];
  current: Leadership | undefined;
  wallOffsetMs = 0;
  /** How long its work takes to end after the leadership has ended. */
  lingerMs = 0;
  done: Promise<void> | undefined;

  constructor(
    base: VirtualClock,
    api: FakeApi,
    identity: string,
    seed: number,
    options: Partial<ElectionOptions> = {},
  ) {
    this.base = base;
    const clock: Clock = {
      now: () => base.now() + this.wallOffsetMs,
      monotonicMs: () => base.monotonicMs(),
      sleep: (ms, signal) => base.sleep(ms, signal),
      after: (ms, run) => base.after(ms, run),
    };
    const random = seededRandom(seed);
    this.link = new Partition(api, base);
    const client = new KubeClient({ transport: this.link, clock, random });
    this.election = new Election({ client, clock, random, namespace: "system", name: "leader", identity, ...options });
  }

  start(): this {
    this.done = this.election.run(this.stop.signal, async (leadership) => {
      this.current = leadership;
      this.terms.push(leadership.term);
      await new Promise((resolve) => leadership.signal.addEventListener("abort", resolve, { once: true }));
      if (this.lingerMs > 0) await this.base.sleep(this.lingerMs);
      this.current = undefined;
    });
    return this;
  }

  get leads(): boolean {
    return this.current?.isCurrent() ?? false;
  }
}

function setUp(count: number) {
  const clock = new VirtualClock();
  const api = new FakeApi({ clock });
  const candidates = Array.from({ length: count }, (_, index) => new Candidate(clock, api, `c${index}`, index + 1));
  const [a, b] = candidates;
  return { clock, api, candidates, a: a!, b: b! };
}

it("a leadership is confirmed by the lease itself, and ends when another candidate is seen to hold it", async () => {
  const { clock, api, a } = setUp(1);
  a.start();
  await clock.advance(3_000);
  const leadership = a.current;
  if (!leadership) throw new Error("the candidate does not lead");
  expect(await clock.run(leadership.confirm())).toBe(true);

  // As after a suspension: its own clock has not moved, and another candidate has taken the lease.
  const [lease] = api.list(leases);
  if (!lease) throw new Error("there is no lease");
  const spec = { ...(lease.spec as object), holderIdentity: "another", leaseTransitions: 99 };
  api.put(leases, { ...lease, spec });
  expect(leadership.isCurrent()).toBe(true);
  expect(await clock.run(leadership.confirm())).toBe(false);
  expect(leadership.signal.aborted).toBe(true);
});

it("a leadership that cannot be checked continues until its deadline, and is not confirmed", async () => {
  const { clock, api, a } = setUp(1);
  a.start();
  await clock.advance(3_000);
  const leadership = a.current;
  if (!leadership) throw new Error("the candidate does not lead");
  api.fault = () => ({ kind: "answer", status: 503 });
  await expect(clock.run(leadership.confirm())).rejects.toThrow();
  expect(leadership.signal.aborted).toBe(false);
});

const holder = (api: FakeApi) => (api.list(leases)[0]?.spec as { holderIdentity?: string } | undefined)?.holderIdentity;

it("a waiting candidate logs once who leads and since when, and again when the leader changes", async () => {
  const { clock, api, a, b } = setUp(2);
  const lines: string[] = [];
  const log = lineLog((_level, message, { leader, term, since }) => {
    if (!message.startsWith("standing by")) return;
    expect(Date.parse(`${since}`)).toBeLessThanOrEqual(clock.now());
    lines.push(`${`${leader}`.split("_")[0]} term ${term}`);
  });
  const quiet = new Candidate(clock, api, "standby", 9, { log });
  a.start();
  await clock.advance(3_000);
  expect(a.leads).toBe(true);
  quiet.start();
  await clock.advance(60_000);
  expect(lines).toEqual(["c0 term 1"]);
  b.start();
  a.stop.abort(new Error("stopped"));
  quiet.link.state = "refused";
  await clock.advance(30_000);
  expect(b.leads).toBe(true);
  quiet.link.state = "open";
  await clock.advance(30_000);
  expect(lines).toEqual(["c0 term 1", "c1 term 2"]);
});

it("one of several leads, and keeps leading while it can renew", async () => {
  const { clock, api, candidates } = setUp(3);
  for (const candidate of candidates) candidate.start();
  await clock.advance(120_000);
  expect(candidates.filter((candidate) => candidate.leads)).toHaveLength(1);
  expect(candidates.flatMap((candidate) => candidate.terms)).toEqual([1]);
  expect(holder(api)).toMatch(/^c\d_/);
});

it("a clean stop finishes the work, releases the lease, and the next one leads within a retry period", async () => {
  const { clock, api, a, b } = setUp(2);
  a.start();
  await clock.advance(1_000);
  b.start();
  await clock.advance(5_000);
  a.lingerMs = 20_000;
  a.stop.abort(new Error("shutting down"));
  await clock.advance(19_000);
  // The lease still protects the work in flight, because it is still renewed.
  expect(holder(api)).toBe(a.election.identity);
  expect(a.leads).toBe(false);
  expect(b.leads).toBe(false);
  await clock.advance(4_000);
  await a.done;
  expect(b.leads).toBe(true);
  expect(b.terms).toEqual([2]);
});

it("a leader that cannot renew stops before another candidate can take its lease", async () => {
  const { clock, a, b } = setUp(2);
  a.start();
  await clock.advance(1_000);
  b.start();
  await clock.advance(30_000);
  expect(a.leads).toBe(true);
  a.link.state = "refused";
  let stoppedMs: number | undefined;
  let takenMs: number | undefined;
  for (let step = 0; step < 400 && takenMs === undefined; step++) {
    await clock.advance(100);
    if (!a.leads) stoppedMs ??= clock.monotonicMs();
    if (b.leads) takenMs = clock.monotonicMs();
  }
  expect(takenMs).toBeDefined();
  expect((takenMs ?? 0) - (stoppedMs ?? Number.POSITIVE_INFINITY)).toBeGreaterThanOrEqual(4_000);
});

it("a process restarted under a unique identity takes its dead predecessor's lease at once, and no other one", async () => {
  const { clock, api } = setUp(0);
  const unique = { isIdentityUnique: true };
  const pod = (name: string, seed: number, options = unique) => new Candidate(clock, api, name, seed, options);
  const dead = pod("pod-a", 1).start();
  await clock.advance(3_000);
  dead.link.state = "refused";
  const others = [pod("pod", 2), pod("pod-b", 3), pod("pod-a", 4, { isIdentityUnique: false })];
  for (const other of others) other.start();
  const restarted = pod("pod-a", 5).start();
  await clock.advance(3_000);
  expect(restarted.terms).toEqual([2]);
  expect(others.flatMap(({ terms }) => terms)).toEqual([]);
});

it("the deadline counts from when the renewal was sent, not from when it was answered", async () => {
  const { clock, a } = setUp(1);
  a.start();
  await clock.advance(1_000);
  a.link.answerDelayMs = 4_900;
  await clock.advance(1_100); // A renewal is sent at 2 s and answered at 6.9 s.
  a.link.state = "refused";
  await clock.advance(9_800);
  expect(a.leads).toBe(true);
  await clock.advance(200);
  expect(a.leads).toBe(false);
});

it("an answer to the renewal after the deadline does not restore the leadership", async () => {
  const { clock, a } = setUp(1);
  a.start();
  await clock.advance(1_000);
  a.link.state = "answers lost";
  await clock.advance(9_100);
  expect(a.leads).toBe(false);
  expect(a.current).toBeUndefined();
  a.link.state = "open";
  await clock.advance(10_000);
  expect(a.leads).toBe(true);
  expect(a.terms).toHaveLength(2);
  expect(a.terms[1]).toBeGreaterThan(a.terms[0]!);
});

it("jumps of the wall clock have no effect", async () => {
  const { clock, a, b } = setUp(2);
  a.start();
  await clock.advance(1_000);
  b.start();
  for (const jumpMs of [86_400_000, -3 * 86_400_000, 1]) {
    await clock.advance(10_000);
    a.wallOffsetMs += jumpMs;
    b.wallOffsetMs -= jumpMs;
  }
  await clock.advance(60_000);
  expect(a.leads).toBe(true);
  expect(b.terms).toEqual([]);
});

it("a stopped wall clock does not make a renewed lease look abandoned", async () => {
  const { clock, api, a, b } = setUp(2);
  const frozen = clock.now();
  Object.defineProperty(a, "wallOffsetMs", { get: () => frozen - clock.now() });
  a.start();
  await clock.advance(1_000);
  b.start();
  await clock.advance(120_000);
  expect(holder(api)).toBe(a.election.identity);
  expect(b.terms).toEqual([]);
});

it("the work's failure ends the run, with the lease released", async () => {
  const { clock, api, a } = setUp(1);
  const run = a.election.run(a.stop.signal, async () => {
    throw new Error("work failed");
  });
  await expect(clock.run(run)).rejects.toThrow("work failed");
  expect(holder(api)).toBe("");
});

it("durations without a safety margin are refused", () => {
  const clock = new VirtualClock();
  const api = new FakeApi({ clock });
  expect(() => new Candidate(clock, api, "x", 1, { renewDeadlineMs: 14_500 })).toThrow("leaseDuration");
});

it("with disconnections, lost answers, slow links and clock jumps there are never two leaders", async () => {
  let changes = 0;
  let waits = 0;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 }), async (seed) => {
      const random = seededRandom(seed);
      const clock = new VirtualClock({ random });
      const api = new FakeApi({ clock });
      const candidates = [1, 2, 3].map((index) => new Candidate(clock, api, `c${index}`, seed + index).start());
      const terms: number[] = [];
      for (let step = 0; step < 150; step++) {
        const unlucky = candidates[Math.floor(random.next() * 3)]!;
        const fate = random.next();
        if (fate < 0.15) unlucky.link.state = "refused";
        else if (fate < 0.25) unlucky.link.state = "answers lost";
        else if (fate < 0.45) unlucky.link.state = "open";
        else if (fate < 0.55) unlucky.link.answerDelayMs = random.next() * 6_000;
        else if (fate < 0.65) unlucky.link.requestDelayMs = random.next() * 6_000;
        else if (fate < 0.75) unlucky.wallOffsetMs += (random.next() - 0.5) * 1e9;
        await clock.advance(random.next() * 5_000);
        const leading = candidates.filter((candidate) => candidate.leads);
        expect(leading.length, `leaders at step ${step}`).toBeLessThanOrEqual(1);
        if (leading.length === 0) waits++;
        const term = leading[0]?.current?.term;
        if (term !== undefined && term !== terms.at(-1)) terms.push(term);
      }
      changes += terms.length - 1;
      expect(terms).toEqual([...terms].sort((x, y) => x - y));
      for (const { link } of candidates) Object.assign(link, { state: "open", answerDelayMs: 0, requestDelayMs: 0 });
      await clock.advance(60_000);
      expect(candidates.filter((candidate) => candidate.leads)).toHaveLength(1);
      for (const candidate of candidates) candidate.stop.abort(new Error("over"));
      await clock.run(Promise.all(candidates.map((candidate) => candidate.done)));
      expect(holder(api)).toBe("");
      expect(clock.sleeping).toBe(0);
    }),
    { numRuns: 60, seed: 3 },
  );
  expect(changes).toBeGreaterThan(100);
  expect(waits).toBeGreaterThan(100);
});
