import { expect, it } from "vitest";
import { lineLog } from "../runtime/index.ts";
import { MIN_STREAMS, StreamBudget, type StreamClaim, type StreamSeat } from "./stream-budget.ts";

const never = new AbortController().signal;
/** The smallest budget: 32 own streams, 4 for objects, 28 for members. */
const OBJECTS = 4;
const MEMBERS = 28;

/** Takes this many seats; those that are granted now or later are kept in order. */
function taker(budget: StreamBudget) {
  const granted: string[] = [];
  const seats = new Map<string, StreamSeat[]>();
  const reasons: string[] = [];
  const take = async (claim: StreamClaim, count: number, signal = never) => {
    for (let index = 0; index < count; index++) {
      void budget
        .take(claim, signal, (why) => reasons.push(why))
        .then(
          (seat) => {
            granted.push(claim.kind);
            seats.set(claim.kind, [...(seats.get(claim.kind) ?? []), seat]);
          },
          () => {},
        );
    }
    await Promise.resolve();
  };
  const release = async (kind: string, count: number) => {
    for (const seat of seats.get(kind)?.splice(0, count) ?? []) seat.release();
    await Promise.resolve();
  };
  return { take, release, granted, seats, reasons };
}

const members = (kind: string, weight?: number): StreamClaim => ({
  lane: "members",
  kind,
  ...(weight !== undefined && { weight: () => weight }),
});

it("a full lane makes a stream wait, reports that at once, and admits it when another is closed", async () => {
  const budget = new StreamBudget({ limit: MIN_STREAMS });
  const { take, release, granted, reasons } = taker(budget);
  await take(members("Pod"), MEMBERS + 1);
  expect(granted).toHaveLength(MEMBERS);
  expect(reasons).toEqual([`no free stream: all ${MEMBERS} streams for members are in use`]);
  expect(budget.usage().lanes.members).toEqual({
    limit: MEMBERS,
    open: MEMBERS,
    waiting: 1,
    kinds: { Pod: { open: MEMBERS, waiting: 1 } },
  });
  await release("Pod", 1);
  expect(granted).toHaveLength(MEMBERS + 1);
  await release("Pod", MEMBERS);
  expect(budget.usage().lanes.members).toEqual({ limit: MEMBERS, open: 0, waiting: 0, kinds: {} });
});

it("no lane takes from another, and the program's own watches never wait", async () => {
  const budget = new StreamBudget({ limit: MIN_STREAMS });
  const { take, reasons } = taker(budget);
  await take({ lane: "objects", kind: "ConfigMap" }, 1_000);
  expect(reasons).toHaveLength(1_000 - OBJECTS);
  await take(members("Pod"), MEMBERS);
  await take({ lane: "own", kind: "Work" }, 100);
  expect(reasons).toHaveLength(1_000 - OBJECTS);
  expect(budget.usage().limit).toBe(MIN_STREAMS);
});

it("a kind that takes everything first keeps only its share once other kinds ask", async () => {
  const budget = new StreamBudget({ limit: MIN_STREAMS });
  const { take, release, seats } = taker(budget);
  await take(members("Greedy"), 100);
  await take(members("Modest"), 4);
  const isOwed = () => seats.get("Greedy")?.[0]?.isOwed();
  // Between two watches, a stream of the greedy kind gives up its seat, until the other kind has what it needs.
  for (let turns = 0; isOwed() && turns < 100; turns++) await release("Greedy", 1);
  expect(budget.usage().lanes.members.kinds).toEqual({
    Greedy: { open: MEMBERS - 4, waiting: 100 - MEMBERS },
    Modest: { open: 4, waiting: 0 },
  });
});

it("kinds that all want more than is available get equal shares, and then no stream yields", async () => {
  const budget = new StreamBudget({ limit: MIN_STREAMS });
  const { take, release, seats } = taker(budget);
  for (const kind of ["A", "B", "C", "D"]) await take(members(kind), 50);
  for (let turns = 0; turns < 200; turns++) {
    const giving = ["A", "B", "C", "D"].find((kind) => seats.get(kind)?.[0]?.isOwed());
    if (!giving) break;
    await release(giving, 1);
    await take(members(giving), 1);
  }
  const { kinds } = budget.usage().lanes.members;
  expect(Object.values(kinds).map(({ open }) => open)).toEqual([7, 7, 7, 7]);
});

it("a kind's share grows with the number of its users", async () => {
  const budget = new StreamBudget({ limit: MIN_STREAMS });
  const { take, release } = taker(budget);
  await take(members("Filler"), MEMBERS);
  await take(members("Rare", 1), 50);
  await take(members("Common", 6), 50);
  await release("Filler", MEMBERS);
  const { kinds } = budget.usage().lanes.members;
  expect([kinds.Rare?.open, kinds.Common?.open]).toEqual([4, 24]);
});

it("a stream that is closed while it waits leaves the queue", async () => {
  const budget = new StreamBudget({ limit: MIN_STREAMS });
  const { take, release, granted } = taker(budget);
  const abort = new AbortController();
  await take(members("Pod"), MEMBERS);
  await take(members("Gone"), 1, abort.signal);
  await take(members("Next"), 1);
  abort.abort(new Error("closed"));
  await release("Pod", 1);
  expect(granted.at(-1)).toBe("Next");
  expect(budget.usage().lanes.members.waiting).toBe(0);
});

it("a seat that is released twice counts once", async () => {
  const budget = new StreamBudget({ limit: MIN_STREAMS });
  const seat = await budget.take(members("Pod"), never, () => {});
  seat.release();
  seat.release();
  expect(budget.usage().lanes.members.open).toBe(0);
});

it("the log reports once when a lane has no free stream, and once when no stream waits any more", async () => {
  const lines: string[] = [];
  const log = lineLog((level, message) => lines.push(`${level} ${message}`));
  const { take, release } = taker(new StreamBudget({ limit: MIN_STREAMS, log }));
  await take(members("Pod"), MEMBERS + 3);
  await release("Pod", 3);
  expect(lines).toEqual(["warn no free stream; those without one wait", "info no stream waits any more"]);
});

it.each([0, 63, 100.5, Number.NaN])("a budget of %s streams is refused", (limit) => {
  expect(() => new StreamBudget({ limit })).toThrow(RangeError);
});
