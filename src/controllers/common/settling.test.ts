import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { Settling } from "./settling.ts";

describe("[U15] content that a revision is to be made of", () => {
  it("has settled when it has not changed for the quiet time", async () => {
    const clock = new VirtualClock();
    const settling = new Settling(clock);
    expect(settling.leftMs("web", "a", 2_000)).toBe(2_000);
    await clock.advance(1_500);
    expect(settling.leftMs("web", "a", 2_000)).toBe(500);
    expect(settling.leftMs("web", "b", 2_000)).toBe(2_000);
    await clock.advance(2_000);
    expect(settling.leftMs("web", "b", 2_000)).toBe(0);
  });

  it("settles after ten quiet times at the latest, counted from its first change", async () => {
    const clock = new VirtualClock();
    const settling = new Settling(clock);
    let edits = 0;
    while (settling.leftMs("web", `edit ${edits}`, 2_000) > 0) {
      await clock.advance(1_000);
      edits++;
    }
    expect(edits).toBe(20);
    settling.end("web");
    expect(settling.leftMs("web", "another", 2_000)).toBe(2_000);
  });

  it("settles at once with a quiet time of 0, and by itself for each application", () => {
    const settling = new Settling(new VirtualClock());
    expect(settling.leftMs("web", "a", 0)).toBe(0);
    expect(settling.leftMs("shop", "a", 5_000)).toBe(5_000);
  });
});
