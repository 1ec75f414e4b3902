/** What `why` and `status` show of pods that are not ready, against the real controller on virtual time. */
import { beforeAll, describe, expect, it } from "vitest";
import type { HttpRequest, HttpResponse } from "../../runtime/index.ts";
import { CliWorld, exampleTemplate } from "../testing/harness.ts";

const forbidden = (what: string): HttpResponse => ({
  status: 403,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: `${what} is forbidden` }),
});

describe("an update whose image crashes", () => {
  const cli = new CliWorld(7);
  const is =
    (part: RegExp, answer: HttpResponse) =>
    ({ path }: HttpRequest) =>
      part.test(path) ? answer : undefined;
  beforeAll(async () => {
    await cli.deploy();
    await cli.world.apply(exampleTemplate("nginx:broken"));
    await cli.world.until("it crashes", () => JSON.stringify(cli.world.status("web")).includes("CrashLoopBackOff"));
  });

  it("is shown by why with the pod's own reason, its exit code and the end of its log", async () => {
    const { code, out } = await cli.run(["why", "web"]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /\nPods that are not ready\n {2}member3 web-200 {2}CrashLoopBackOff: back-off 10s restarting failed container; it last ended with exit code 1 \(Error\), at 20\S+Z\n/,
    );
    expect(out).toContain("    | simulated: web-200 would run nginx:broken\n");
    expect(out).toContain("    | simulated: this image fails on purpose, with exit code 1\n");
    const data = JSON.parse((await cli.run(["why", "web", "-o", "json"])).out);
    expect(data.pods).toMatchObject([{ cluster: "member3", name: "web-200", reason: "CrashLoopBackOff" }]);
  });

  it("is shown by status next to the instance, and kept in the object's status without the pod's output", async () => {
    expect((await cli.run(["status", "web"])).out).toMatch(/web-200 +not ready .*CrashLoopBackOff \(exit code 1\)\n/);
    const kept = JSON.stringify(cli.world.status("web"));
    expect(kept).toContain('"reason":"CrashLoopBackOff (exit code 1)"');
    expect(kept).not.toMatch(/simulated|restarting failed container/);
  });

  it("is explained without the pods if the user may not read them, and reports that", async () => {
    const noPods = await cli.run(["why", "web"], { intercept: is(/\/proxy\/api\/v1\/.*pods/, forbidden("pods")) });
    expect(noPods.code).toBe(0);
    expect(noPods.out).toContain("WaitingFor");
    expect(noPods.out).toMatch(/the pods in member3 cannot be read \(you may not read them\)/);
    const noLogs = await cli.run(["why", "web"], { intercept: is(/\/log\?/, forbidden("pods/log")) });
    expect(noLogs.out).toMatch(/member3 web-200 {2}CrashLoopBackOff/);
    expect(noLogs.out).toContain("the log of web-200 in member3 is not shown: you may not read pods/log there");
  });

  it("cannot control or flood the terminal with its output", async () => {
    const lines = Array.from({ length: 50 }, (_, at) => `line ${at} \u001b[2J\u202e${"x".repeat(1_000)}`).join("\n");
    const answer = { status: 200, headers: { "content-type": "text/plain" }, body: lines };
    const { out } = await cli.run(["why", "web"], { intercept: is(/\/log\?/, answer) });
    const shown = out.split("\n").filter((line) => line.startsWith("    | "));
    expect(shown).toHaveLength(10);
    expect(shown.at(-1)).toMatch(/^ {4}\| line 49 +\[2J x+\.\.\.$/);
    expect(Math.max(...shown.map((line) => line.length))).toBeLessThanOrEqual(306);
    expect(out).not.toMatch(/\p{Cf}|[^\P{Cc}\n]/u);
  });

  it("requests only a limited part of the log, of the container that ended", async () => {
    const asked: string[] = [];
    await cli.run(["why", "web"], {
      intercept({ path }) {
        if (path.includes("/log?")) asked.push(path.slice(path.indexOf("?") + 1));
        return undefined;
      },
    });
    expect(asked).toEqual(["tailLines=10&limitBytes=8192&container=web&previous=true"]);
  });
});

it("an image that cannot be pulled is shown with the pod's own reason", async () => {
  const cli = new CliWorld(8);
  await cli.deploy();
  await cli.world.apply(exampleTemplate("nginx:missing"));
  await cli.world.until("it waits", () => JSON.stringify(cli.world.status("web")).includes("ImagePullBackOff"));
  const { out } = await cli.run(["why", "web"]);
  expect(out).toContain('ImagePullBackOff: Back-off pulling image "nginx:missing": not found');
});
