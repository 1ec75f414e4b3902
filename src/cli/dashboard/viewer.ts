/** The hub as one viewer sees it: every request carries the viewer's own credentials. */

import { ENGINES } from "../../engine/index.ts";
import {
  type ClusterConnection,
  ForbiddenError,
  KubeClient,
  KubeError,
  type KubeObject,
  Reflector,
  type Resource,
  resource,
  UnauthorizedError,
} from "../../kube/index.ts";
import { type Clock, isJsonObject, type JsonObject, type Random, silentLog } from "../../runtime/index.ts";
import {
  type Act,
  type ApplicationName,
  type ApplicationView,
  type ClusterAct,
  type DistributionView,
  type JobView,
  type LiveEvent,
  type LogsOf,
  type PlanView,
  type PodReportsView,
  type PodsOf,
  type RecordOf,
  type RecordView,
  Refused,
  type Topic,
  type Viewer,
} from "../../web/index.ts";
import { planApplication } from "../applications/rendering.ts";
import { runHistory } from "../commands/history/run.ts";
import { runPlan } from "../commands/plan/run.ts";
import { CommandError, explain } from "../errors.ts";
import { recordIn } from "../hub/record.ts";
import { statusOf } from "../hub/status.ts";
import type { Io } from "../terminal/io.ts";
import { type ApplicationFacts, applicationView } from "./application.ts";
import { carryOut } from "./carry-out.ts";
import {
  type Changes,
  changesKey,
  type DistributionFacts,
  distributionStatus,
  distributionView,
} from "./distribution.ts";
import { type JobFacts, jobView } from "./job.ts";
import { argumentOf, RESOURCES } from "./kinds.ts";
import { podLog, podsOf, reportsOf } from "./logs.ts";
import { changesView, jobPlanView, planView } from "./plan.ts";
import { Pulse, Remembered } from "./pulse.ts";
import { recordView } from "./record.ts";
import { Access, applicationQuestions } from "./rights.ts";
import { EXPIRED, EXPIRED_WORDS, FoundEngine } from "./trouble.ts";
import { watchOverview } from "./watch-overview.ts";

const EVENTS = resource({ apiVersion: "v1", kind: "Event", plural: "events", namespaced: true });
/** A page is redrawn at most this often; a person sees no more. */
const APPLICATION_GAP_MS = 250;
/** A plan is computed again after this time. */
const PLAN_FRESH_MS = 15_000;
/** Differences are larger, and change less. */
const CHANGES_FRESH_MS = 60_000;
/** A plan of an object that changed meanwhile is computed again; for longer than this, the page goes without. */
const PLAN_PATIENCE_MS = 1_000;

/** A person waits for the answer. */
const ATTEMPTS = 3;

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
      : watchOverview({ ...this.#options, client: this.#client }, topic.namespace, send, signal);
  }

  logs(of: LogsOf): Promise<string> {
    return this.#asked((io) => podLog(io, of));
  }

  pods(of: PodsOf): Promise<readonly string[]> {
    return this.#asked((io) => podsOf(io, of));
  }

  async podReports(of: ApplicationName): Promise<PodReportsView> {
    const reports = await this.#asked((io) => reportsOf(io, of));
    return { atMs: this.#options.clock.now(), ...reports };
  }

  record({ type, namespace, name, revision }: RecordOf): Promise<RecordView> {
    return this.#asked(async () => {
      const object = await this.#client.get(RESOURCES[type], { namespace, name }, { maxAttempts: ATTEMPTS });
      const record = recordIn(
        type === "dapp" ? distributionStatus(object).history : statusOf(object).history,
        revision,
      );
      if (!record) throw new Refused(404, `the controller has kept no account of a rollout to ${revision}`);
      return recordView(record);
    });
  }

  async act(act: Act | ClusterAct): Promise<string> {
    const io = this.#io();
    try {
      await carryOut(io, act);
      return io.printed().trim();
    } catch (error) {
      throw refused(error);
    }
  }

  async #asked<T>(read: (io: Io) => Promise<T>): Promise<T> {
    try {
      return await read(this.#io());
    } catch (error) {
      throw refused(error);
    }
  }

  close(): Promise<void> {
    return this.#options.connection.close();
  }

  async #watchApplication(at: ApplicationName, send: (event: LiveEvent) => void, signal: AbortSignal): Promise<void> {
    const { clock, program, connection } = this.#options;
    const pulse = new Pulse(clock, signal);
    const { type, namespace, name } = at;
    const { kind } = RESOURCES[type];
    const objects = this.#reflector(RESOURCES[type], { namespace, fieldSelector: `metadata.name=${name}` }, pulse);
    const about = `involvedObject.kind=${kind},involvedObject.name=${name}`;
    const events = this.#reflector(EVENTS, { namespace, fieldSelector: about }, pulse);
    const access = new Access({ transport: connection.transport, clock }, applicationQuestions(at), () => pulse.beat());
    const running = Promise.all([objects.run(signal), events.run(signal), access.run(signal)]);
    const what = `${kind} ${namespace}/${name}`;
    const object = () => objects.cache.get({ namespace, name });
    const statefulset = type === "ccs" ? this.#statefulsetView(at, object) : undefined;
    const plans = new Remembered<PlanView>();
    const differences = new Remembered<Changes>();
    const engine = new FoundEngine(this.#client, clock);
    try {
      while (await pulse.next(APPLICATION_GAP_MS)) {
        if (access.isExpired) return send(EXPIRED);
        const isSynced = ({ health }: typeof objects) => health.hasSynced || health.failure !== undefined;
        // Without its Events or its rights, the first picture would be half a picture.
        if (!isSynced(objects) || !isSynced(events) || !access.hasAnswers) continue;
        const seen = object();
        const problem = troubleOf(objects, seen, what, access);
        if (problem) send({ event: "trouble", data: problem });
        if (!seen || problem) continue;
        const found = await engine.find(signal);
        const facts = {
          object: seen,
          events: events.health.isForbidden ? [] : events.cache.list(),
          eventsProblem: eventsProblemOf(events),
          rights: { change: access.may("change"), approve: access.may("approve") },
          program,
          engine: found.engine?.name ?? ENGINES.karmada.name,
          nowMs: clock.now(),
        };
        const event: LiveEvent = statefulset
          ? { event: "application", data: await statefulset(facts) }
          : type === "dapp"
            ? { event: "distribution", data: await this.#distributionView(at, object, differences, facts) }
            : { event: "job", data: await this.#jobView(at, object, plans, facts) };
        if (!signal.aborted) send(event);
      }
    } finally {
      await running;
    }
  }

  /** A CrossClusterStatefulset's page also shows the plan ahead and what each revision changed. */
  #statefulsetView(at: ApplicationName, object: () => KubeObject | undefined) {
    const plans = new Remembered<PlanView>();
    const changes = new Remembered<ReadonlyMap<string, readonly string[]>>();
    return async (facts: Omit<ApplicationFacts, "plan" | "changes">): Promise<ApplicationView> => {
      const { plan, of } = await this.#planFor(at, object, plans);
      const historyKey = (isJsonObject(of.status) && Array.isArray(of.status.history) ? of.status.history : [])
        .map((entry) => (isJsonObject(entry) ? String(entry.revision) : ""))
        .join();
      const changed = await changes.get(historyKey, () => this.#changes(at));
      return applicationView({ ...facts, object: of, plan, changes: changed, nowMs: this.#options.clock.now() });
    };
  }

  async #jobView(
    at: ApplicationName,
    object: () => KubeObject | undefined,
    plans: Remembered<PlanView>,
    facts: Omit<JobFacts, "plan">,
  ): Promise<JobView> {
    const { plan, of } = await this.#planFor(at, object, plans);
    return jobView({ ...facts, object: of, plan, nowMs: this.#options.clock.now() });
  }

  /** The plan and the object that it is of: both from one moment, unless the object changes all the time. */
  async #planFor(
    at: ApplicationName,
    object: () => KubeObject | undefined,
    plans: Remembered<PlanView>,
  ): Promise<{ plan: PlanView; of: KubeObject }> {
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    for (;;) {
      const before = object();
      if (!before) throw new Error(`${at.namespace}/${at.name} is gone`);
      const version = before.metadata.resourceVersion ?? "";
      // The time, the template and the clusters change it too, of which the object does not tell.
      const age = Math.floor(clock.monotonicMs() / PLAN_FRESH_MS);
      const plan = await plans.get(`${version}/${age}`, () => this.#plan(at));
      const after = object() ?? before;
      if (after.metadata.resourceVersion === version) return { plan, of: before };
      if (clock.monotonicMs() - startMs > PLAN_PATIENCE_MS) {
        return { plan: { ...NO_PLAN, problem: "it changes too fast to plan" }, of: after };
      }
    }
  }

  /** With what each cluster gets, if it is not done. */
  async #distributionView(
    at: ApplicationName,
    object: () => KubeObject | undefined,
    differences: Remembered<Changes>,
    facts: DistributionFacts,
  ): Promise<DistributionView> {
    const key = changesKey(facts.object);
    const changes = await this.#changesIn(at, key, differences);
    const of = object() ?? facts.object;
    // Differences of another moment than the rest of the picture are not shown; the next picture has its own.
    const isSame = changesKey(of) === key;
    return distributionView({ ...facts, object: of, nowMs: this.#options.clock.now() }, isSame ? changes : NO_CHANGES);
  }

  async #changesIn(at: ApplicationName, key: string | undefined, differences: Remembered<Changes>): Promise<Changes> {
    if (key === undefined) return NO_CHANGES;
    // A ConfigMap that it is made from changes it too, of which the object does not tell at once.
    const age = Math.floor(this.#options.clock.monotonicMs() / CHANGES_FRESH_MS);
    return differences.get(`${key}/${age}`, async () => {
      const io = this.#io();
      try {
        await planApplication(io, argumentOf(at), { namespace: at.namespace, output: "json", onlyKept: true });
        return changesView(JSON.parse(io.printed()));
      } catch (error) {
        return { diffs: [], diffsProblem: explain(error) };
      }
    });
  }

  async #plan(at: ApplicationName): Promise<PlanView> {
    const io = this.#io();
    try {
      await runPlan(io, argumentOf(at), { namespace: at.namespace, output: "json" });
      const printed: unknown = JSON.parse(io.printed());
      if (!isJsonObject(printed)) return NO_PLAN;
      return at.type === "ccj" ? jobPlanView(printed) : planView(printed);
    } catch (error) {
      return { ...NO_PLAN, problem: explain(error) };
    }
  }

  /** What each revision changed. Empty if the viewer may not read revisions. */
  async #changes(at: ApplicationName): Promise<ReadonlyMap<string, readonly string[]>> {
    const io = this.#io();
    try {
      await runHistory(io, argumentOf(at), { namespace: at.namespace, output: "json" });
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

  #reflector(kind: Resource, selection: { namespace?: string | undefined; fieldSelector?: string }, pulse: Pulse) {
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

const NO_CHANGES: Changes = { diffs: [] };
const NO_PLAN: PlanView = { ahead: [], blockedBy: [], diffs: [] };
const MAX_CHANGES = 20;

function troubleOf(
  { health }: Pick<Reflector<KubeObject>, "health">,
  object: KubeObject | undefined,
  what: string,
  access: Access,
): { message: string; gone: boolean } | undefined {
  if (health.isForbidden || access.may("read") === false) return { message: `You may not watch ${what}.`, gone: true };
  if (health.failure !== undefined) return { message: `The hub cannot be read: ${health.failure}`, gone: false };
  if (access.silence !== undefined) return { message: access.silence, gone: false };
  if (health.hasSynced && !object) {
    return { message: `${what} does not exist: it was deleted, or was never there.`, gone: true };
  }
  return undefined;
}

function eventsProblemOf({ health }: Pick<Reflector<KubeObject>, "health">): string | undefined {
  if (health.isForbidden) return "You may not list Events in this namespace.";
  return health.failure === undefined ? undefined : `The Events cannot be read: ${health.failure}`;
}

/** The hub's refusals keep their status; everything else is the request's fault, or the hub's. */
function refused(error: unknown): Refused {
  if (error instanceof Refused) return error;
  if (error instanceof CommandError) return new Refused(409, error.message);
  if (error instanceof UnauthorizedError) return new Refused(401, EXPIRED_WORDS);
  if (error instanceof ForbiddenError) return new Refused(403, error.message);
  if (error instanceof KubeError) return new Refused(502, explain(error));
  throw error;
}
