import { describe, expect, it } from "vitest";
import { CliWorld, exampleObjects } from "../../testing/harness.ts";

describe("controller", () => {
  it("leads, deploys, logs JSON lines, and releases the lease when it stops", async () => {
    const cli = new CliWorld(7);
    const { world } = cli;
    await world.clock.run(world.fleet.start());
    for (const object of exampleObjects()) await world.apply(object);
    const stop = new AbortController();
    void world.clock.sleep(60_000).then(() => stop.abort(new Error("stopped by SIGTERM")));
    const { code, out } = await cli.run(["controller", "--identity", "me"], { interrupted: stop.signal });
    expect(code).toBe(0);
    const lines: { level: string; message: string }[] = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ level: "info", message: "started", identity: "me" });
    expect(lines.map(({ message }) => message)).toContain("leading");
    expect(lines.at(-1)).toMatchObject({ message: "stopped", reason: "stopped by SIGTERM" });
    expect(world.isSettled("web", 5)).toBe(true);
    expect((await cli.run(["doctor"])).out).toMatch(/warning +controller: no controller leads/);
  });
});
