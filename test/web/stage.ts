/**
 * The dashboard's server with viewers whose hub is played by the test: every state of a page can be shown, and every act
 * is kept. The browser reaches it through a wire, and keeps its address if the server is started again.
 */
import { randomBytes } from "node:crypto";
import type { Page } from "playwright-core";
import { silentLog, systemClock } from "../../src/runtime/index.ts";
import { type Dashboard, Refused, startDashboard, type Viewer } from "../../src/web/index.ts";
import type { Act, ApplicationView, ClusterAct, LiveEvent, OverviewView, Topic } from "../../src/web/types.ts";
import { Wire } from "./wire.ts";

const PAGE = new URL("../../dist/web", import.meta.url).pathname;
const SECRET_BYTES = 32;

export class Stage {
  readonly wire = new Wire();
  /** Who did what. */
  readonly acts: ((Act | ClusterAct) & { readonly by: string })[] = [];
  /** Live streams that are open now. */
  readonly watching = new Set<(event: LiveEvent) => void>();
  /** What a stream begins with, and what it says again and again. */
  show: (topic: Topic, user: string) => LiveEvent = () => ({ event: "overview", data: overviewOf() });
  act: (act: Act | ClusterAct) => string = () => "done";
  #dashboard: Dashboard | undefined;

  async start({ readOnly = false } = {}): Promise<void> {
    this.#dashboard = await startDashboard({
      clock: systemClock,
      log: silentLog,
      newSecret: () => randomBytes(SECRET_BYTES).toString("base64url"),
      pageFolder: PAGE,
      // A token is the user's name.
      signIn: async (token) => this.#viewer(token),
      readOnly,
      program: "lockstep",
    });
    const port = Number(new URL(this.#dashboard.url).port);
    if (this.wire.port === 0) await this.wire.open(port);
    else this.wire.lead(port);
  }

  get url(): string {
    return `http://127.0.0.1:${this.wire.port}/`;
  }

  /** To every page that is open. */
  say(event: LiveEvent): void {
    for (const send of this.watching) send(event);
  }

  /** Every session is gone, as it is when the process is started again. */
  async restart(options?: { readOnly?: boolean }): Promise<void> {
    await this.#dashboard?.close();
    await this.start(options);
  }

  async close(): Promise<void> {
    await this.wire.close();
    await this.#dashboard?.close();
  }

  #viewer(user: string): Viewer {
    return {
      user,
      server: "https://hub.example",
      watch: async (topic, send, signal) => {
        send(this.show(topic, user));
        this.watching.add(send);
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        this.watching.delete(send);
      },
      act: async (act) => {
        const effect = this.act(act);
        this.acts.push({ ...act, by: user });
        return effect;
      },
      logs: async () => `the log that ${user} may read`,
      pods: async () => [],
      podReports: async () => ({ atMs: Date.now(), pods: [], notes: [] }),
      record: async () => {
        throw new Refused(404, "the controller has kept no account of it");
      },
      close: async () => {},
    };
  }
}

export async function signInAt(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel("Bearer token of the hub").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

export function overviewOf(more: Partial<OverviewView> = {}): OverviewView {
  return { atMs: Date.now(), applications: [], clusters: [], problems: [], mayDrain: true, ...more };
}

/** Five instances over three clusters, at rest. */
export function applicationOf(more: Partial<ApplicationView> = {}): ApplicationView {
  const atMs = Date.now();
  const revision = "shop-8vwtq86p9f";
  const cluster = (name: string, first: number, replicas: number) => ({
    name,
    phase: "Settled",
    health: "Healthy",
    leader: first === 0,
    isBusy: false,
    gate: "Open",
    ready: replicas,
    replicas,
    revision,
    ordinals: `${first}`,
    instances: Array.from({ length: replicas }, (_, index) => ({
      name: `shop-${first + index}`,
      ordinal: first + index,
      ready: true,
      terminating: false,
      leader: first + index === 0,
      revision,
    })),
  });
  return {
    type: "ccs",
    namespace: "default",
    name: "shop",
    atMs,
    resourceVersion: "1",
    seen: { uid: "1", past: [] },
    kind: "StatefulSet",
    isCurrent: true,
    phase: "Settled",
    desired: 5,
    updated: 5,
    currentRevision: revision,
    updateRevision: revision,
    leader: { cluster: "east", instance: "shop-0" },
    quorum: { voters: 5, ready: 5, needed: 3, maxUnavailable: 1, spare: 2 },
    paused: false,
    why: { sentence: "default/shop waits for nothing.", evidence: [], remedy: [], needsPerson: false, others: [] },
    clusters: [cluster("east", 0, 2), cluster("west", 2, 2), cluster("north", 4, 1)],
    timeline: { fromMs: atMs - 60_000, spans: [], holds: [], notes: [] },
    plan: { ahead: [], blockedBy: [], diffs: [] },
    history: [
      { revision, number: 1, state: ["current"], hasRecord: false, createdAt: new Date(atMs - 60_000).toISOString() },
    ],
    actions: [],
    ...more,
  };
}
