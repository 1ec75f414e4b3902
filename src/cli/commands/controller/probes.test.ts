import { expect, it } from "vitest";
import { StreamBudget } from "../../../kube/index.ts";
import { MetricsRegistry, type Transport, TransportError } from "../../../runtime/index.ts";
import { VirtualClock } from "../../../runtime/testing/virtual-clock.ts";
import { runCli } from "../../program.ts";
import type { Answer } from "../../terminal/listen.ts";
import { CliWorld, exampleObjects, exampleTemplate, testIo } from "../../testing/harness.ts";
import { answerProbe } from "./probes.ts";

/** A controller process of the command line, on virtual time. */
class Process {
  readonly #stop = new AbortController();
  readonly #out: string[];
  readonly ended: Promise<number>;
  #answer: ((path: string) => Answer) | undefined;
  isCutOff = false;

  constructor({ world }: CliWorld, identity: string) {
    const hub = world.fleet.hub.transport();
    const reach = () => {
      if (this.isCutOff) throw new TransportError("connection refused", { neverSent: true });
    };
    const transport: Transport = {
      async request(request) {
        reach();
        return hub.request(request);
      },
      async stream(request) {
        reach();
        return hub.stream(request);
      },
    };
    const io = testIo(world.clock, transport, {
      interrupted: this.#stop.signal,
      served: (answer) => {
        this.#answer = answer;
      },
    });
    this.#out = io.out;
    this.ended = runCli(["controller", "--identity", identity, "--metrics", "0.0.0.0:8080"], io);
  }

  probe(path: string): string {
    const { status, body } = this.#answer?.(path) ?? { status: 0, body: "" };
    return path === "/metrics" ? body : `${status} ${body.trim()}`;
  }

  get leads(): boolean {
    return this.probe("/metrics").includes('leader_election_master_status{name="lockstep-controller"} 1');
  }

  lines(message: string): Record<string, unknown>[] {
    const all: Record<string, unknown>[] = this.#out.map((line) => JSON.parse(line));
    return all.filter((line) => line.message === message);
  }

  terminate(): void {
    this.#stop.abort(new Error("stopped by SIGTERM"));
  }
}

it("metrics, probes and log tell of a rollout; a standby takes over within 5 s of the leader's SIGTERM", async () => {
  const cli = new CliWorld(11);
  const { world } = cli;
  const { clock } = world;
  await clock.run(world.fleet.start());
  const first = new Process(cli, "first");
  await world.until("the first leads and is ready", () => first.leads && first.probe("/readyz") === "200 ok");
  const second = new Process(cli, "second");
  await world.until("the second stands by", () => second.probe("/readyz") === "200 ok");
  expect([first.leads, second.leads]).toEqual([true, false]);
  expect(first.probe("/healthz")).toBe("200 ok");
  expect(first.probe("/elsewhere")).toContain("404 ");

  for (const object of exampleObjects()) await world.apply(object);
  await world.until("it is deployed", () => world.isSettled("web", 5));
  const metrics = first.probe("/metrics");
  const labels = 'kind="CrossClusterStatefulset"';
  expect(metrics).toContain(`application_started_steps_total{${labels},step="deploy"} 5`);
  expect(metrics).toContain(`application_complete_step_duration_seconds_count{${labels},step="deploy"} 5`);
  expect(metrics).toContain(`application_quorum_margin{${labels},namespace="default",name="web"} 2`);
  expect(metrics).toContain(`applications{${labels}} 1`);
  expect(metrics).toMatch(/application_dispatch_grant_duration_seconds_count\{[^}]*\} [1-9]/);
  expect(metrics).toMatch(/rest_client_requests_total\{cluster="hub",method="POST",code="201"\} [1-9]/);
  expect(metrics).toMatch(/watch_streams\{lane="members",state="open"\} [1-9]/);
  expect(metrics).toContain('workqueue_depth{name="crossclusterstatefulset"} 0');
  expect(metrics).toMatch(/nodejs_heap_size_used_bytes [1-9]/);
  expect(first.lines("step started")[0]).toMatchObject({ object: "default/web", cluster: "member1", step: "deploy" });
  expect(first.lines("step ended")).toHaveLength(5);

  await world.apply(exampleTemplate("nginx:2"));
  await world.until("an update is in progress", () => first.probe("/metrics").includes('step="update"} '));
  expect(first.probe("/metrics")).toMatch(/application_without_progress_seconds\{[^}]*name="web"\} \d/);
  expect(first.probe("/metrics")).toContain("application_waiting{");
  const stoppedMs = clock.monotonicMs();
  first.terminate();
  await world.until("the second leads", () => second.leads);
  expect(clock.monotonicMs() - stoppedMs).toBeLessThan(5_000);
  expect(await clock.run(first.ended)).toBe(0);
  await world.until("it is updated", () => world.isSettled("web", 5));

  // A leader that dies without a word, as with SIGKILL: the next one waits for the lease.
  const third = new Process(cli, "third");
  await world.until("the third stands by", () => third.probe("/readyz") === "200 ok");
  second.isCutOff = true;
  const diedMs = clock.monotonicMs();
  await world.until("the third leads", () => third.leads);
  expect(clock.monotonicMs() - diedMs).toBeLessThan(15_000 + 5_000);
  await clock.advance(20_000);
  expect(second.probe("/readyz")).toMatch(/^503 the lease could not be read for \d+ s: .*connection refused/);
  expect(second.probe("/healthz")).toBe("200 ok");
  second.terminate();
  third.terminate();
  await clock.run(Promise.all([second.ended, third.ended]));
  await clock.run(world.fleet.stop());
});

it("healthz fails when a watch shows no life or the event loop is late, and readyz before the election", async () => {
  const clock = new VirtualClock();
  const streams = new StreamBudget();
  const seat = await streams.take({ lane: "own", kind: "v1/Pod" }, new AbortController().signal, () => {});
  let lagMs = 0;
  const parts = { clock, streams, registry: new MetricsRegistry(), takeLagMs: () => lagMs, manager: () => undefined };
  const probe = (path: string) => answerProbe(parts, path);
  seat.alive(clock.monotonicMs());
  await clock.advance(300_000);
  expect(probe("/healthz").status).toBe(200);
  await clock.advance(30_000);
  expect(probe("/healthz")).toMatchObject({ status: 503, body: "watches without a sign of life for 320 s: v1/Pod\n" });
  seat.alive(clock.monotonicMs());
  lagMs = 11_000;
  expect(probe("/healthz").body).toBe("the event loop was late by 11000 ms\n");
  expect(probe("/readyz")).toMatchObject({ status: 503, body: "the controller has not started yet\n" });
});
