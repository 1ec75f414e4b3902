import { describe, expect, it } from "vitest";
import { kubeconfigText } from "../../apiserver/front/index.ts";
import { runAlone, type TestIoOptions } from "../testing/harness.ts";

const HUB = { name: "hub", server: "https://127.0.0.1:4711", credentials: { token: "t" } };

/** Which kubeconfig a command uses, and its message about it. */
async function connecting(text: string, args: readonly string[] = [], options: TestIoOptions = {}) {
  let used: string | undefined = "none";
  const { err } = await runAlone([...args, "--request-timeout", "1s"], {
    files: { ".lockstep/kubeconfig": text },
    connected: (_, kubeconfig) => {
      used = kubeconfig;
      return undefined;
    },
    ...options,
  });
  return { used, err };
}

describe("the kubeconfig of a fleet that runs in this folder", () => {
  it.each([["status"], ["why", "web"], ["plan", "web"], ["history", "web"], ["wait", "web"], ["doctor"]])(
    "is found by %s, which prints that",
    async (...args) => {
      const { used, err } = await connecting(kubeconfigText([HUB]), args);
      expect(used).toBe(".lockstep/kubeconfig");
      expect(err).toContain("using .lockstep/kubeconfig of 'lockstep up' in this folder\n");
    },
  );

  it("is not used if another one is named", async () => {
    const text = kubeconfigText([HUB]);
    const named = await connecting(text, ["status", "--kubeconfig", "mine"]);
    expect(named).toMatchObject({ used: "mine" });
    const inEnvironment = await connecting(text, ["status"], { env: { KUBECONFIG: "mine" } });
    expect(inEnvironment.used).toBeUndefined();
    for (const { err } of [named, inEnvironment]) expect(err).not.toContain(".lockstep");
  });

  it("is used only if 'up' wrote it: the current folder must not make Lockstep run a program", async () => {
    const exec = kubeconfigText([HUB]).replace("token: t", "exec: {command: /bin/evil}");
    const foreign = await connecting(exec, ["status"]);
    expect(foreign.used).toBeUndefined();
    expect(foreign.err).toContain(".lockstep/kubeconfig is not used: it has a user with 'exec'");
    const remote = await connecting(kubeconfigText([{ ...HUB, server: "https://hub.example.com" }]), ["status"]);
    expect(remote.used).toBeUndefined();
    expect(remote.err).toContain("its server https://hub.example.com is not on this machine");
    expect((await connecting("a: [", ["status"])).err).toContain("it is not YAML");
  });
});
