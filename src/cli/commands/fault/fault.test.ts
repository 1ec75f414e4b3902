/** `lockstep fault` on a fleet with the real controller, on virtual time. */
import { beforeEach, describe, expect, it } from "vitest";
import { kubeconfigText } from "../../../apiserver/front/index.ts";
import { CliWorld, exampleTemplate } from "../../testing/harness.ts";

const UP = { ".lockstep/kubeconfig": kubeconfigText([]) };

describe("a fault on a fleet of up", () => {
  let cli: CliWorld;
  const fault = (...args: string[]) => cli.run(["fault", ...args], { files: UP });
  const template = () => JSON.stringify(cli.world.fleet.hubObject("apps/statefulsets", "default", "web"));
  beforeEach(async () => {
    cli = new CliWorld(9);
    await cli.deploy();
  });

  it("breaks an image, which the rollout then waits for, and heals it", async () => {
    const { code, out } = await fault("image", "web");
    expect(code).toBe(0);
    expect(out).toContain(
      "StatefulSet default/web now has the image nginx:broken, which crashes; before it had nginx:1.27\n" +
        "See the effect: lockstep status web -w, and lockstep why web\n" +
        "Undo it: lockstep fault heal, or lockstep undo web\n",
    );
    await cli.world.until("it crashes", () => JSON.stringify(cli.world.status("web")).includes("CrashLoopBackOff"));
    expect((await fault("image", "web")).out).toContain("already has the image nginx:broken");
    expect((await fault("image", "web", "--missing")).out).toContain("nginx:missing, which cannot be pulled");
    expect((await fault("list")).out).toBe(
      "StatefulSet default/web has the image nginx:missing; before the fault it had nginx:1.27\n",
    );
    expect((await fault("heal")).out).toBe("StatefulSet default/web has the image nginx:1.27 again\n");
    await cli.world.until("it is repaired", () => cli.world.isSettled("web", 5));
    expect(template()).not.toContain("image-before-fault");
    expect((await fault("heal")).out).toBe("nothing is broken\n");
    expect((await fault("list")).out).toBe("nothing is broken\n");
  });

  it("does not change an image that was edited since", async () => {
    await fault("image", "web");
    await cli.world.apply(exampleTemplate("nginx:1.28"));
    expect((await fault("heal")).out).toBe("nothing is broken\n");
    expect(template()).toContain("nginx:1.28");
  });

  it("disconnects a cluster, and reconnects it", async () => {
    expect((await fault("cut", "member3")).out).toBe(
      "member3 is disconnected from the hub; its instances keep running\n" +
        "Reconnect it: lockstep fault heal member3\n",
    );
    expect(cli.world.fleet.state("member3").reachable).toBe(false);
    expect((await fault("list")).out).toBe("member3 is disconnected\n");
    expect((await fault("heal", "member2")).out).toBe("member2 is connected\n");
    expect((await fault("heal", "member3")).out).toBe("member3 is connected again\n");
    expect(cli.world.fleet.state("member3").reachable).toBe(true);
  });

  it("names an unknown cluster or object", async () => {
    expect((await fault("cut", "membr3")).err).toContain("has no cluster 'membr3'; did you mean 'member3'?");
    expect((await fault("image", "wbe")).err).toContain("did you mean 'web'?");
    expect((await fault("brake")).code).toBe(1);
  });

  it("is refused on a hub that is not of 'up', before anything is written", async () => {
    const written: string[] = [];
    const onRealHub = (...args: string[]) =>
      cli.run(["fault", ...args, "--kubeconfig", "real"], {
        intercept({ method, path }) {
          if (method !== "GET") written.push(`${method} ${path}`);
          const gone = { status: 404, headers: {}, body: "404 page not found" };
          return path.startsWith("/lockstep/") ? gone : undefined;
        },
      });
    for (const args of [["image", "web"], ["cut", "member1"], ["heal"], ["list"]]) {
      const { code, err } = await onRealHub(...args);
      expect(code).toBe(1);
      expect(err).toContain("https://hub.test is not a fleet of 'lockstep up'");
      expect(err).toContain("never on a real hub");
    }
    expect(written).toEqual([]);
  });

  it("shows how to start a fleet if none runs", async () => {
    const { code, err } = await cli.run(["fault", "list"]);
    expect(code).toBe(1);
    expect(err).toContain("no fleet runs here: .lockstep/kubeconfig does not exist in this folder");
  });
});
