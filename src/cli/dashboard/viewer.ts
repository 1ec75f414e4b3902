/** The hub as one viewer sees it: every request carries the viewer's own credentials. */
import { ENGINES } from "../../engine/index.ts";
import {
  type ClusterConnection,
  KubeClient,
  KubeError,
  type KubeObject,
  Reflector,
  resource,
} from "../../kube/index.ts";
import { type Clock, isJsonObject, type JsonObject, type Random, silentLog } from "../../runtime/index.ts";
import {
  type Act,
  type ApplicationName,
  type LiveEvent,
  type PlanView,
  Refused,
  type Topic,
  type Viewer,
} from "../../web/index.ts";
import { runHistory } from "../commands/history/run.ts";
import { runPlan } from "../commands/plan/run.ts";
import { CommandError, explain } from "../errors.ts";
import { engineOf } from "../hub/engine.ts";
import { STATEFULSETS } from "../hub/hub.ts";
import type { Io } from "../terminal/io.ts";
import type { Rights } from "./actions.ts";
import { applicationView } from "./application.ts";
import { carryOut } from "./carry-out.ts";
import { type Digest, digestOf, overviewView } from "./overview.ts";
import { planView } from "./plan.ts";
import { rightsOf } from "./rights.ts";

const EVENTS = resource({ apiVersion: "v1", kind: "Event", plural: "events", namespaced: true });
/** A page is redrawn at most this often; a person sees no more. */
const APPLICATION_GAP_MS = 250;
const OVERVIEW_GAP_MS = 1_000;
/** Rights that an administrator grants show up after this time at the latest. */
const RIGHTS_FRESH_MS = 30_000;
/** A plan of an object that changed meanwhile is computed again, at most this often in a row. */
const PLAN_ATTEMPTS = 3;

export interface ViewerOptions {
  readonly connection: ClusterConnection;
  readonly user: string;
  readonly clock: Clock;
  readonly random: Random;
  /** How commands to paste begin. */
  readonly program: string;
}

export class HubViewer implements Viewer {
  readonly user: string;
  readonly server: string;
  readonly #options: ViewerOptions;
  readonly #client: KubeClient;

  constructor(options: ViewerOptions) {
    const { connection, clock, random, user } = options;
    this.#options = options;
    this.user = user;
    this.server = connection.server;
    this.#client = new KubeClient({
      transport: connection.transport,
      clock,
      random,
      log: silentLog,
      userAgent: "lockstep-dashboard",
    });
  }

  watch(topic: Topic, send: (event: LiveEvent) => void, signal: AbortSignal): Promise<void> {
    return topic.kind === "application"
      ? this.#watchApplication(topic, send, signal)
      : this.#watchOverview(topic.namespace, send, signal);
  }

  async act(act: Act): Promise<string> {
    const io = this.#io();
    try {
      await carryOut(io, act);
      return io.printed().trim();
    } catch (error) {
      throw refused(error);
    }
  }

  close(): Promise<void> {
    return this.#options.connection.close();
  }

  async #watchApplication(at: ApplicationName, send: (event: LiveEvent) => void, signal: AbortSignal): Promise<void> {
    const { clock, program } = this.#options;
    const pulse = new Pulse(clock, signal);
    const { namespace, name } = at;
    const objects = this.#reflector(STATEFULSETS, { namespace, fieldSelector: `metadata.name=${name}` }, pulse);
    const events = this.#reflector(EVENTS, { namespace, fieldSelector: `involvedObject.name=${name}` }, pulse);
    const running = Promise.all([objects.run(signal), events.run(signal)]);
    const plans = new Remembered<PlanView>();
    const changes = new Remembered<ReadonlyMap<string, readonly string[]>>();
    let rights: Rights | undefined;
    let rightsAtMs = 0;
    const object = () => objects.cache.get(at);
    try {
      while (await pulse.next(APPLICATION_GAP_MS)) {
        const seen = object();
        const problem = troubleOf(objects, seen, `CrossClusterStatefulset ${namespace}/${name}`);
        if (problem) send({ event: "trouble", data: problem });
        if (!seen || problem) continue;
        if (rights === undefined || clock.monotonicMs() - rightsAtMs > RIGHTS_FRESH_MS) {
          rights = await rightsOf({ transport: this.#options.connection.transport, clock }, at);
          rightsAtMs = clock.monotonicMs();
        }
        const { plan, of } = await this.#planFor(at, object, plans);
        const historyKey = (isJsonObject(of.status) && Array.isArray(of.status.history) ? of.status.history : [])
          .map((entry) => (isJsonObject(entry) ? String(entry.revision) : ""))
          .join();
        const data = applicationView({
          object: of,
          events: events.cache.list(),
          eventsProblem: events.health.isForbidden ? "you may not list Events in this namespace" : undefined,
          plan,
          changes: await changes.get(historyKey, () => this.#changes(at)),
          rights,
          program,
          nowMs: clock.now(),
        });
        if (!signal.aborted) send({ event: "application", data });
      }
    } finally {
      await running;
    }
  }

  /** The plan and the object that it is of: both from one moment, unless the object changes all the time. */
  async #planFor(
    at: ApplicationName,
    object: () => KubeObject | undefined,
    plans: Remembered<PlanView>,
  ): Promise<{ plan: PlanView; of: KubeObject }> {
    for (let attempt = 1; ; attempt++) {
      const before = object();
      if (!before) throw new Error(`${at.namespace}/${at.name} is gone`);
      const version = before.metadata.resourceVersion ?? "";
      const plan = await plans.get(version, () => this.#plan(at));
      const after = object() ?? before;
      if (after.metadata.resourceVersion === version) return { plan, of: before };
      if (attempt >= PLAN_ATTEMPTS) return { plan: { ...NO_PLAN, problem: "it changes too fast to plan" }, of: after };
    }
  }

  async #plan({ namespace, name }: ApplicationName): Promise<PlanView> {
    const io = this.#io();
    try {
      await runPlan(io, name, { namespace, output: "json" });
      const printed: unknown = JSON.parse(io.printed());
      return isJsonObject(printed) ? planView(printed) : NO_PLAN;
    } catch (error) {
      return { ...NO_PLAN, problem: explain(error) };
    }
  }

  /** What each revision changed. Empty if the viewer may not read revisions. */
  async #changes({ namespace, name }: ApplicationName): Promise<ReadonlyMap<string, readonly string[]>> {
    const io = this.#io();
    try {
      await runHistory(io, name, { namespace, output: "json" });
      const printed: unknown = JSON.parse(io.printed());
      const rows: JsonObject[] = Array.isArray(printed) ? printed.filter(isJsonObject) : [];
      return new Map(
        rows.flatMap(({ revision, changes }) =>
          Array.isArray(changes) ? [[String(revision), changes.slice(0, MAX_CHANGES).map(String)]] : [],
        ),
      );
    } catch {
      return new Map();
    }
  }

  async #watchOverview(
    namespace: string | undefined,
    send: (event: LiveEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#options;
    const pulse = new Pulse(clock, signal);
    const digests = new WeakMap<KubeObject, Digest>();
    const applications = this.#reflector(STATEFULSETS, { namespace }, pulse);
    const engine = await engineOf({ client: this.#client }).catch(() => ENGINES.karmada);
    const clusters = this.#reflector(engine.clusters, {}, pulse);
    const running = Promise.all([applications.run(signal), clusters.run(signal)]);
    try {
      while (await pulse.next(OVERVIEW_GAP_MS)) {
        const { health } = applications;
        if (!health.hasSynced && health.failure === undefined) continue;
        if (!health.isForbidden && health.failure !== undefined) {
          send({ event: "trouble", data: { message: `The hub cannot be read: ${health.failure}`, gone: false } });
          continue;
        }
        const where = namespace === undefined ? "all namespaces" : `namespace ${namespace}`;
        const problems = [
          ...(health.isForbidden ? [`You may not list applications in ${where}.`] : []),
          ...(clusters.health.isForbidden ? ["You may not list the clusters of the fleet."] : []),
        ];
        const rows = applications.cache.list().map((object) => {
          const digest = digests.get(object) ?? digestOf(object);
          digests.set(object, digest);
          return digest;
        });
        send({ event: "overview", data: overviewView(rows, clusters.cache.list(), problems, clock.now()) });
      }
    } finally {
      await running;
    }
  }

  #reflector(
    kind: typeof STATEFULSETS,
    selection: { namespace?: string | undefined; fieldSelector?: string },
    pulse: Pulse,
  ) {
    const { clock, random } = this.#options;
    const wake = () => pulse.beat();
    const reflector = new Reflector({
      client: this.#client,
      resource: kind,
      selection,
      clock,
      random,
      healthChanged: wake,
    });
    reflector.cache.subscribe({ added: wake, updated: wake, deleted: wake });
    return reflector;
  }

  /** For a command that runs as this viewer: its output is kept, and there is no terminal and no file. */
  #io(): Io & { printed(): string } {
    const { connection, clock, random, program } = this.#options;
    const out: string[] = [];
    const output = (keep: boolean) => ({
      isTerminal: false,
      columns: 120,
      rows: 50,
      write: (text: string) => void (keep && out.push(text)),
    });
    return {
      stdout: output(true),
      stderr: output(false),
      canAsk: false,
      env: {},
      program,
      ask: async () => "",
      readFile: () => {
        throw new CommandError("the dashboard reads no files");
      },
      writeFile: () => {
        throw new CommandError("the dashboard writes no files");
      },
      listen: () => {
        throw new CommandError("the dashboard opens no port for a command");
      },
      interrupted: () => new AbortController().signal,
      clock: async () => clock,
      random: async () => random,
      connect: async () => ({ ...connection, close: async () => {} }),
      printed: () => out.join(""),
    };
  }
}

const NO_PLAN: PlanView = { ahead: [], blockedBy: [], diffs: [] };
const MAX_CHANGES = 20;

function troubleOf(
  { health }: Pick<Reflector<KubeObject>, "health">,
  object: KubeObject | undefined,
  what: string,
): { message: string; gone: boolean } | undefined {
  if (health.isForbidden) return { message: `You may not watch ${what}.`, gone: true };
  if (health.failure !== undefined) return { message: `The hub cannot be read: ${health.failure}`, gone: false };
  if (health.hasSynced && !object) return { message: `${what} does not exist.`, gone: true };
  return undefined;
}

/** The hub's refusals keep their status; everything else is the request's fault, or the hub's. */
function refused(error: unknown): Refused {
  if (error instanceof CommandError) return new Refused(409, error.message);
  const isDenied = error instanceof Error && (error.name === "ForbiddenError" || error.name === "UnauthorizedError");
  if (isDenied) return new Refused(403, error.message);
  if (error instanceof KubeError) return new Refused(502, explain(error));
  throw error;
}

/** The last value and what it was computed for. */
class Remembered<T> {
  #key: string | undefined;
  #value: T | undefined;

  async get(key: string, compute: () => Promise<T>): Promise<T> {
    if (this.#key === key && this.#value !== undefined) return this.#value;
    const value = await compute();
    this.#key = key;
    this.#value = value;
    return value;
  }
}

/** Wakes a loop when something changed: many changes at once wake it once. */
class Pulse {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #isDue = false;
  #wake: () => void = () => {};

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
  }

  beat(): void {
    this.#isDue = true;
    this.#wake();
  }

  /** Waits for the next change, and a little longer for those that follow it. False: the signal aborted. */
  async next(gapMs: number): Promise<boolean> {
    if (!this.#isDue && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    await this.#clock.sleep(gapMs, this.#signal).catch(() => {});
    this.#isDue = false;
    return !this.#signal.aborted;
  }
}
