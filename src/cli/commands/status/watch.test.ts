/** `status -w` on a fleet with the real controller, on virtual time. */
import { stripVTControlCharacters } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { TransportError } from "../../../runtime/index.ts";
import { CliWorld } from "../../testing/harness.ts";

/** What was drawn on the screen, without colours; without the last picture, which stays on the normal screen. */
function picturesOf(out: string): string[] {
  const [drawn = ""] = out.split("\u001b[?1049l");
  return drawn.split("\u001b[H\u001b[J").slice(1).map(stripVTControlCharacters);
}

describe("status -w", () => {
  const cli = new CliWorld(5);
  beforeAll(() => cli.deploy());
  const watching = (ms: number) => {
    const stop = new AbortController();
    void cli.world.clock.sleep(ms).then(() => stop.abort(new Error("Ctrl-C")));
    return stop.signal;
  };

  it("prints every change when piped, until it is interrupted", async () => {
    await cli.run(["restart", "web"]);
    const { code, out, err } = await cli.run(["status", "web", "-w"], { interrupted: watching(30_000) });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const pictures = out.split("\n\n").filter((part) => part.startsWith("default/web"));
    expect(pictures.length).toBeGreaterThan(5);
    expect(out).not.toContain("\u001b");
    expect(pictures.at(-1)).toContain("Settled");
  });

  it("redraws in place on a terminal, and leaves the last picture", async () => {
    const { out } = await cli.run(["status", "web", "-w"], { terminal: true, interrupted: watching(3_000) });
    expect(out.startsWith("\u001b[?1049h\u001b[H\u001b[J")).toBe(true);
    expect(out.split("\u001b[?1049l")[1]).toContain("member3");
  });

  it("-o json prints one object per line", async () => {
    const { out } = await cli.run(["status", "web", "-w", "-o", "json"], { interrupted: watching(500) });
    expect(JSON.parse(out.split("\n")[0] ?? "")).toMatchObject({ kind: "CrossClusterStatefulset" });
  });

  describe("of a hub that becomes unreachable", () => {
    const { hub } = cli.world.fleet;
    const later = (ms: number, act: () => void) => void cli.world.clock.sleep(ms).then(act);
    /** The pictures of one watch, without the last one on the normal screen. */
    const watch = async (ms: number) => {
      const { code, out } = await cli.run(["status", "web", "-w"], { terminal: true, interrupted: watching(ms) });
      expect(code).toBe(0);
      return picturesOf(out);
    };

    it("shows since when the hub is silent, and continues when it is back", async () => {
      later(3_000, () => hub.set({ closed: "connection refused" }));
      later(20_000, () => hub.mend());
      const pictures = await watch(60_000);
      const silent = pictures.filter((text) => text.startsWith("No answer"));
      expect(silent[0]).toMatch(
        /^No answer from https:\/\/hub\.test since 20\S+Z \(\ds\): .*connection refused.*\nThis is the state at that time\. .*\n\ndefault\/web /,
      );
      expect(silent.some((text) => /\(15s\)/.test(text))).toBe(true);
      expect(pictures[0]).toMatch(/^default\/web/);
      expect(pictures.at(-1)).toMatch(/^default\/web/);
    });

    it("notices a silent hub that is still connected", async () => {
      later(3_000, () => hub.set({ slowMs: 600_000 }));
      later(40_000, () => hub.mend());
      const pictures = await watch(39_000);
      expect(pictures.at(-1)).toMatch(/^No answer from https:\/\/hub\.test since /);
      await cli.world.ask(cli.world.clock.sleep(2_000));
    });

    it("connects again with the current kubeconfig", async () => {
      const gone = async (): Promise<never> => {
        throw new TransportError("connection refused", { neverSent: true });
      };
      const { out } = await cli.run(["status", "web", "-w"], {
        terminal: true,
        interrupted: watching(30_000),
        connected: (times) => (times === 2 ? { request: gone, stream: gone } : undefined),
      });
      const pictures = picturesOf(out);
      expect(pictures[0]).toContain("connection refused");
      expect(pictures.at(-1)).not.toContain("No answer");
      expect(pictures.at(-1)).toContain("member3");
    });

    it("reports it on standard error when piped", async () => {
      later(3_000, () => hub.set({ closed: "connection refused" }));
      later(10_000, () => hub.mend());
      const { err } = await cli.run(["status", "web", "-w"], { interrupted: watching(40_000) });
      expect(err).toMatch(
        /^No answer from .* since .*connection refused.*\nThis is the state .*\nConnected again to https:\/\/hub\.test\.\n$/,
      );
    });
  });

  it("is as wide as the screen, and wraps what is longer", async () => {
    await cli.run(["restart", "web"]);
    const options = { terminal: true, columns: 80, interrupted: watching(10_000) };
    const { out } = await cli.run(["status", "web", "-w"], options);
    const lines = picturesOf(out).flatMap((picture) => picture.split("\n"));
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(lines.join(" ").replaceAll(/[│├└─ ]+/g, " ")).toMatch(/BudgetExhausted.*maxUnavailable is 1\. .+\./);
  });

  it("needs a name", async () => {
    expect((await cli.run(["status", "-w"])).err).toContain("--watch needs a name");
  });
});
