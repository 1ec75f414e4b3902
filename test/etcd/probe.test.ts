/** Clients whose process ends by itself are noticed at once, at whatever moment. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { Probe } from "../availability/probe.ts";

describe("the clients' process", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-probe-"));
  vi.stubEnv("LOCKSTEP_KARMADA_BIN", folder);
  afterAll(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });

  /** In place of the real program. */
  function start(script: string): Promise<Probe> {
    const program = join(folder, "probe");
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
    return Probe.start({ endpoints: ["a"], proxy: "b", file: join(folder, "record") });
  }

  it("is not waited for if it ends before it has started", async () => {
    await expect(start("exit 3")).rejects.toThrow("did not start: exit code 3");
  });

  it("has no result if it ended by itself, and can be stopped", async () => {
    const probe = await start("echo started; kill -KILL $$");
    await expect(probe.finish()).rejects.toThrow("ended without a result (SIGKILL)");
    await probe.stop();
    await probe.stop();
  });

  it("has ended when it is stopped", async () => {
    const probe = await start('echo started; cat > /dev/null; echo \'{"acknowledged":1,"missing":[]}\'');
    await probe.stop();
    await probe.stop();
  });

  it("may die without a verdict about the history", async () => {
    const probe = await start(
      'if [ "$1" = check ]; then exit 4; fi; echo started; cat > /dev/null; echo \'{"acknowledged":1,"missing":[]}\'',
    );
    await expect(probe.finish()).rejects.toThrow("could not be checked (exit code 4)");
  });
});
