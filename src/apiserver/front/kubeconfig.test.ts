import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type KubeconfigContext, KubeconfigError, writeKubeconfig } from "./kubeconfig.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-kubeconfig-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const hub: KubeconfigContext = {
  name: "hub",
  server: "https://127.0.0.1:6443",
  certificateAuthority: "CA PEM",
  credentials: { certificate: "CERT PEM", privateKey: "KEY PEM" },
  namespace: "demo",
};
const member: KubeconfigContext = { name: "member1", server: "http://127.0.0.1:7000", credentials: { token: "t0ken" } };

const decoded = (text: string) => Buffer.from(text, "base64").toString();

describe("writeKubeconfig", () => {
  it("writes one cluster, context and user for each, the first one current", async () => {
    const file = join(folder, "new", "kubeconfig");
    await writeKubeconfig(file, [hub, member]);
    const config = parse(readFileSync(file, "utf8"));
    expect(config["current-context"]).toBe("hub");
    expect(config.contexts).toEqual([
      { name: "hub", context: { cluster: "hub", user: "hub", namespace: "demo" } },
      { name: "member1", context: { cluster: "member1", user: "member1" } },
    ]);
    expect(decoded(config.clusters[0].cluster["certificate-authority-data"])).toBe("CA PEM");
    expect(decoded(config.users[0].user["client-key-data"])).toBe("KEY PEM");
    expect(config.users[1].user).toEqual({ token: "t0ken" });
  });

  it("writes a file that only its owner can read, even if it replaces a public one, and leaves no other file", async () => {
    const file = join(folder, "kubeconfig");
    writeFileSync(file, "old", { mode: 0o644 });
    await writeKubeconfig(file, [hub]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["kubeconfig"]);
  });

  it("keeps the old file when the new one cannot be written, and names the file", async () => {
    const writing = writeKubeconfig(join(folder, "no\0name"), [hub]);
    await expect(writing).rejects.toThrow(KubeconfigError);
    const blocker = join(folder, "blocker");
    writeFileSync(blocker, "a file, no folder");
    await expect(writeKubeconfig(join(blocker, "kubeconfig"), [hub])).rejects.toThrow(
      /blocker\/kubeconfig: cannot be written/,
    );
    expect(readFileSync(blocker, "utf8")).toBe("a file, no folder");
  });

  it("refuses two contexts of one name, and a missing current context", async () => {
    const file = join(folder, "kubeconfig");
    await expect(writeKubeconfig(file, [hub, hub])).rejects.toThrow('two contexts are called "hub"');
    await expect(writeKubeconfig(file, [hub], "member1")).rejects.toThrow(
      'current context "member1" is not one of: hub',
    );
    expect(readdirSync(folder)).toEqual([]);
  });
});
