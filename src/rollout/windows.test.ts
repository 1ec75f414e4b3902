import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cronProblem, isTimeZone, type MaintenanceWindow, windowState } from "./windows.ts";

const at = (text: string) => Date.parse(text);

function stateAt(windows: MaintenanceWindow[], now: string): string {
  const { open, changesAtMs } = windowState(windows, at(now));
  const until = changesAtMs === undefined ? "indefinitely" : `until ${new Date(changesAtMs).toISOString()}`;
  return `${open ? "open" : "closed"} ${until}`;
}

const window = (cron: string, hours: number, timeZone = "UTC"): MaintenanceWindow => ({
  cron,
  durationSeconds: hours * 3600,
  timeZone,
});

describe("maintenance windows", () => {
  it("are always open if there are none", () => {
    expect(windowState(undefined, 0)).toEqual({ open: true });
    expect(windowState([], 0)).toEqual({ open: true });
  });

  it("open at the time of the cron expression and close after their duration", () => {
    const nightly = [window("0 2 * * *", 2)];
    expect(stateAt(nightly, "2024-05-01T01:59:59.999Z")).toBe("closed until 2024-05-01T02:00:00.000Z");
    expect(stateAt(nightly, "2024-05-01T02:00:00Z")).toBe("open until 2024-05-01T04:00:00.000Z");
    expect(stateAt(nightly, "2024-05-01T03:59:59.999Z")).toBe("open until 2024-05-01T04:00:00.000Z");
    expect(stateAt(nightly, "2024-05-01T04:00:00Z")).toBe("closed until 2024-05-02T02:00:00.000Z");
  });

  it("may last past midnight, and for days", () => {
    expect(stateAt([window("0 23 * * *", 3)], "2024-05-02T01:30:00Z")).toBe("open until 2024-05-02T02:00:00.000Z");
    expect(stateAt([window("0 0 * * SAT", 48)], "2024-05-05T23:00:00Z")).toBe("open until 2024-05-06T00:00:00.000Z");
  });

  it("that touch or overlap count as one", () => {
    const windows = [window("0 2 * * *", 2), window("0 4 * * *", 1), window("30 4 * * *", 2)];
    expect(stateAt(windows, "2024-05-01T02:30:00Z")).toBe("open until 2024-05-01T06:30:00.000Z");
    expect(stateAt([window("* * * * *", 1)], "2024-05-01T02:30:00Z")).toBe("open indefinitely");
  });

  it("treat days of month and of week as cron does", () => {
    expect(stateAt([window("0 0 13 * FRI", 1)], "2024-05-11T00:00:00Z")).toBe("closed until 2024-05-13T00:00:00.000Z");
    expect(stateAt([window("0 0 13 * FRI", 1)], "2024-05-14T00:00:00Z")).toBe("closed until 2024-05-17T00:00:00.000Z");
    expect(stateAt([window("0 0 * * 7", 1)], "2024-05-01T00:00:00Z")).toBe("closed until 2024-05-05T00:00:00.000Z");
    expect(stateAt([window("0 0 29 FEB *", 1)], "2024-03-01T00:00:00Z")).toBe("closed until 2028-02-29T00:00:00.000Z");
    expect(stateAt([window("0 0 29 2 *", 1)], "2096-03-01T00:00:00Z")).toBe("closed until 2104-02-29T00:00:00.000Z");
    expect(stateAt([window("0 8-18/5 1,15 * *", 1)], "2024-05-01T09:00:00Z")).toBe(
      "closed until 2024-05-01T13:00:00.000Z",
    );
  });

  it("follow the clocks of their time zone", () => {
    expect(stateAt([window("0 2 * * *", 2, "Europe/Berlin")], "2024-01-15T00:30:00Z")).toBe(
      "closed until 2024-01-15T01:00:00.000Z",
    );
    expect(stateAt([window("0 2 * * *", 2, "Europe/Berlin")], "2024-07-15T00:30:00Z")).toBe(
      "open until 2024-07-15T02:00:00.000Z",
    );
    expect(stateAt([window("0 0 * * *", 1, "Pacific/Kiritimati")], "2024-05-01T09:59:00Z")).toBe(
      "closed until 2024-05-01T10:00:00.000Z",
    );
    expect(stateAt([window("0 0 * * *", 1, "Asia/Kathmandu")], "2024-05-01T18:00:00Z")).toBe(
      "closed until 2024-05-01T18:15:00.000Z",
    );
  });

  it("open once on the day that clocks skip their time, and once on the day that clocks repeat it", () => {
    const berlin = [window("30 2 * * *", 1, "Europe/Berlin")];
    // 31 March 2024: clocks skip from 02:00 to 03:00. 02:30 does not exist; it counts as 03:30 summer time.
    expect(stateAt(berlin, "2024-03-31T00:59:00Z")).toBe("closed until 2024-03-31T01:30:00.000Z");
    expect(stateAt(berlin, "2024-03-31T02:30:00Z")).toBe("closed until 2024-04-01T00:30:00.000Z");
    // 27 October 2024: 02:30 occurs twice; the first counts.
    expect(stateAt(berlin, "2024-10-26T22:00:00Z")).toBe("closed until 2024-10-27T00:30:00.000Z");
    expect(stateAt(berlin, "2024-10-27T01:30:00Z")).toBe("closed until 2024-10-28T01:30:00.000Z");
  });

  it("for every hour open in every hour of the day", () => {
    const hourly: MaintenanceWindow[] = [{ cron: "0 * * * *", durationSeconds: 600, timeZone: "Europe/Berlin" }];
    expect(stateAt(hourly, "2024-10-27T00:30:00Z")).toBe("closed until 2024-10-27T01:00:00.000Z");
    expect(stateAt(hourly, "2024-10-27T01:05:00Z")).toBe("open until 2024-10-27T01:10:00.000Z");
    expect(stateAt(hourly, "2024-03-31T00:30:00Z")).toBe("closed until 2024-03-31T01:00:00.000Z");
  });

  it("open and close exactly at the reported times, and not before", () => {
    const minute = fc.integer({ min: 0, max: 59 });
    const hour = fc.integer({ min: 0, max: 23 });
    const zone = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu");
    const anyWindow = fc
      .tuple(minute, fc.option(hour), fc.constantFrom("*", "MON", "1-5"), fc.integer({ min: 60, max: 200_000 }), zone)
      .map(([m, h, days, durationSeconds, timeZone]) => ({
        cron: `${m} ${h ?? "*"} * * ${days}`,
        durationSeconds,
        timeZone,
      }));
    const instant = fc.integer({ min: at("2023-01-01T00:00:00Z"), max: at("2027-01-01T00:00:00Z") });
    fc.assert(
      fc.property(
        fc.array(anyWindow, { minLength: 1, maxLength: 3 }),
        instant,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (windows, now, part) => {
          const { open, changesAtMs } = windowState(windows, now);
          if (changesAtMs === undefined) return;
          expect(changesAtMs).toBeGreaterThan(now);
          expect(windowState(windows, changesAtMs).open).toBe(!open);
          const between = now + Math.floor((changesAtMs - 1 - now) * part);
          expect(windowState(windows, between)).toEqual({ open, changesAtMs });
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("a cron expression", () => {
  it.each(["0 2 * * *", "*/15 0-6 1,15 JAN-MAR mon", "59 23 31 12 7", " 0  2 * *   * ", "5/10 * * * *"])(
    "can be %j",
    (text) => {
      expect(cronProblem(text)).toBeUndefined();
    },
  );

  it.each([
    ["", "must have five fields (minute, hour, day of month, month, day of week), but has 0"],
    ["* * * *", "must have five fields (minute, hour, day of month, month, day of week), but has 4"],
    ["60 * * * *", 'has "60" as minute, which must be from 0 to 59'],
    ["* * 0 * *", 'has "0" as day of month, which must be from 1 to 31'],
    ["* * * FOO *", 'has "FOO" as month, which must be from 1 to 12'],
    ["* * * * FOO", 'has "FOO" as day of week, which must be from 0 to 7'],
    ["* FOO * * *", 'has "FOO" as hour, which must be from 0 to 23'],
    ["5-1 * * * *", 'has "5-1" as minute, which must be from 0 to 59'],
    ["*/0 * * * *", 'has "*/0" as minute, which must be from 0 to 59'],
    ["1, * * * *", 'has "" as minute, which is not a value, range or step'],
    ["@daily * * * *", 'has "@daily" as minute, which is not a value, range or step'],
    ["0 0 30 2 *", "names a day that does not exist, so the window would never open"],
  ])("cannot be %j", (text, problem) => {
    expect(cronProblem(text)).toBe(problem);
  });

  it("has a time zone that the platform knows", () => {
    expect(["UTC", "Europe/Berlin", "Mars/Olympus", ""].map(isTimeZone)).toEqual([true, true, false, false]);
  });
});
