import { expect, it } from "vitest";
import type { Clock } from "../runtime/index.ts";
import { Sessions } from "./sessions.ts";
import type { Viewer } from "./viewer.ts";

const HOUR_MS = 3_600_000;

function setUp() {
  let nowMs = 0;
  let secrets = 0;
  const clock: Clock = { now: () => nowMs, monotonicMs: () => nowMs, sleep: async () => {}, after: () => () => {} };
  const real = new Sessions({ clock, newSecret: () => `secret-${++secrets}` });
  const keys = new Map<string, string>();
  /** Most tests are not about the key. */
  const sessions = {
    begin(who: Viewer): string {
      const { secret, key } = real.begin(who);
      keys.set(secret, key);
      return secret;
    },
    find: (secret: string, key = keys.get(secret)) => real.find(secret, key),
    end: (secret: string) => real.end(secret),
    stream: (secret: string) => real.stream(secret),
    oneTimeLink: (open: () => Promise<Viewer>) => real.oneTimeLink(open),
    useLink: (secret: string) => real.useLink(secret),
    get size() {
      return real.size;
    },
  };
  const closed: string[] = [];
  const viewer = (user: string): Viewer => ({
    user,
    server: "https://hub",
    watch: async () => {},
    act: async () => "",
    logs: async () => "",
    pods: async () => [],
    record: async () => ({ revision: "", type: "Update", timeline: { fromMs: 0, spans: [], holds: [], notes: [] } }),
    podReports: async () => ({ atMs: 0, pods: [], notes: [] }),
    close: async () => void closed.push(user),
  });
  return { sessions, viewer, closed, pass: (ms: number) => (nowMs += ms) };
}

it("a session is found by its secret only, and ends when the viewer signs out", () => {
  const { sessions, viewer, closed } = setUp();
  const secret = sessions.begin(viewer("ada"));
  expect(sessions.find("secret-9")).toBeUndefined();
  const found = sessions.find(secret);
  expect(found?.viewer.user).toBe("ada");
  sessions.end(secret);
  expect(found?.ended.aborted).toBe(true);
  expect(sessions.find(secret)).toBeUndefined();
  expect(closed).toEqual(["ada"]);
});

it("a session is not found without its key, nor with another one's: a cookie alone is worth nothing", () => {
  const { sessions, viewer } = setUp();
  const secret = sessions.begin(viewer("ada"));
  sessions.begin(viewer("bob"));
  for (const key of ["", secret, "secret-4"]) expect(sessions.find(secret, key)).toBeUndefined();
  expect(sessions.find(secret)).toBeDefined();
});

it("a session ends after an hour without use, unless a page is open, and after eight hours in any case", () => {
  const { sessions, viewer, pass } = setUp();
  const idle = sessions.begin(viewer("idle"));
  const open = sessions.begin(viewer("open"));
  sessions.stream(open);
  pass(HOUR_MS);
  expect(sessions.find(idle)).toBeUndefined();
  expect(sessions.find(open)).toBeDefined();
  pass(7 * HOUR_MS);
  expect(sessions.find(open)).toBeUndefined();
});

it("there are at most a hundred sessions: the one that was used least recently makes room", () => {
  const { sessions, viewer, closed } = setUp();
  const first = sessions.begin(viewer("first"));
  sessions.begin(viewer("second"));
  for (let more = 0; more < 98; more++) sessions.begin(viewer("more"));
  sessions.find(first);
  sessions.begin(viewer("last"));
  expect(sessions.size).toBe(100);
  expect(closed).toEqual(["second"]);
  expect(sessions.find(first)).toBeDefined();
});

it("a viewer has a bounded number of live streams, and gets a place back when one ends", () => {
  const { sessions, viewer } = setUp();
  const secret = sessions.begin(viewer("ada"));
  const places = Array.from({ length: 12 }, () => sessions.stream(secret));
  expect(places.every((place) => place !== undefined)).toBe(true);
  expect(sessions.stream(secret)).toBeUndefined();
  places[0]?.();
  expect(sessions.stream(secret)).toBeDefined();
});

it("a one-time link works once", () => {
  const { sessions, viewer } = setUp();
  const secret = sessions.oneTimeLink(async () => viewer("ada"));
  expect(sessions.useLink(secret)).toBeDefined();
  expect(sessions.useLink(secret)).toBeUndefined();
});

it("a one-time link works for 15 minutes, and only the last twenty are kept", () => {
  const { sessions, viewer, pass } = setUp();
  const link = () => sessions.oneTimeLink(async () => viewer("ada"));
  const [first, second] = [link(), link()];
  pass(14 * 60_000);
  expect(sessions.useLink(first)).toBeDefined();
  pass(60_000);
  expect(sessions.useLink(second)).toBeUndefined();
  const many = Array.from({ length: 21 }, link);
  expect(sessions.useLink(many[0] ?? "")).toBeUndefined();
  expect(sessions.useLink(many[1] ?? "")).toBeDefined();
});
