import { expect, it } from "vitest";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { jsonLog } from "./log.ts";

function lines(write: (log: ReturnType<typeof jsonLog>) => void, level: "debug" | "info" | "warn" = "info") {
  const written: string[] = [];
  write(jsonLog((line) => written.push(line), new VirtualClock(), level));
  return written.map((line) => JSON.parse(line));
}

it("a line is one JSON object with time, level and message before the fields", () => {
  expect(lines((log) => log.with({ cluster: "member1" }).info("leading", { term: 3 }))).toEqual([
    { time: "2025-01-01T00:00:00.000Z", level: "info", message: "leading", cluster: "member1", term: 3 },
  ]);
});

it("levels below the configured one are dropped", () => {
  const all = (log: ReturnType<typeof jsonLog>) => {
    log.debug("a");
    log.info("b");
    log.error("c");
  };
  expect(lines(all, "warn").map(({ message }) => message)).toEqual(["c"]);
});

it("secrets are removed, long texts are cut, errors become their message, and fields cannot forge the level", () => {
  const [line] = lines((log) =>
    log.info("x", { bearerToken: "abc", level: "error", reason: new Error("why"), text: "a".repeat(5_000), list: [1] }),
  );
  expect(line).toMatchObject({ level: "info", bearerToken: "<hidden>", reason: "why", list: "[1]" });
  expect(line.text).toHaveLength(4_096);
});
