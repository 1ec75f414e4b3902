import { type CrossClusterStatefulset, parseCrossClusterStatefulset } from "../../../api/index.ts";
import { findEngines } from "../../../engine/index.ts";
import { ForbiddenError, type KubeObject, resource } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { applicationName } from "../../applications/kind.ts";
import { waitForApplication } from "../../applications/looking.ts";
import { CommandError, explain, isTransient } from "../../errors.ts";
import { getStatefulset, type Hub, ledgerOf, STATEFULSETS, withHub } from "../../hub/hub.ts";
import { statusOf } from "../../hub/status.ts";
import type { GlobalOptions } from "../../options.ts";
import { findTemplate } from "../../preview/sources.ts";
import { durationOption } from "../../terminal/duration-option.ts";
import type { Io } from "../../terminal/io.ts";
import { nearest } from "../../terminal/nearest.ts";
import { duration, print } from "../../terminal/output.ts";
import { whyOf } from "../why/view.ts";
import type { WaitOptions } from "./command.ts";
import {
  dependencyKey,
  type EngineSchedule,
  GOALS,
  type Goal,
  isOutOfReach,
  isReached,
  type Sources,
  staleness,
} from "./goal.ts";

/** A status is written at most once a second; checking more often would show nothing new. */
const LOOK_MS = 500;
const NOT_SO_EXIT_CODE = 1;
const BINDINGS = resource({
  apiVersion: "work.karmada.io/v1alpha2",
  kind: "ResourceBinding",
  plural: "resourcebindings",
  namespaced: true,
});

type Verdict =
  | { readonly kind: "reached"; readonly object: KubeObject }
  | { readonly kind: "out-of-reach"; readonly object: KubeObject }
  /** `stale`: the status is from before the last edit. */
  | { readonly kind: "not-yet"; readonly object: KubeObject; readonly stale?: string };

export async function runWait(io: Io, given: string, options: WaitOptions & GlobalOptions): Promise<number> {
  const application = applicationName(given);
  if (application !== undefined) return waitForApplication(io, application, options);
  const goal = goalOf(options.for);
  const timeoutMs = durationOption("--timeout", options.timeout);
  return withHub(io, options, async (hub) => {
    const first = await getStatefulset(hub, given);
    const startedMs = hub.clock.monotonicMs();
    const watcher = new Watcher(io, hub, goal, first);
    for (;;) {
      const verdict = await watcher.look();
      if (verdict?.kind === "reached") {
        print(io, reached(goal, verdict.object));
        return 0;
      }
      if (verdict?.kind === "out-of-reach") {
        throw new CommandError(await reasons(io, hub, verdict.object, `will not reach the template's revision`));
      }
      const waitedMs = hub.clock.monotonicMs() - startedMs;
      if (waitedMs >= timeoutMs) {
        const what = `${timeoutMs === 0 ? "is not" : `after ${duration(waitedMs)} is still not`} ${GOAL_WORDS[goal]}`;
        throw new CommandError(await watcher.lastWords(what), { exitCode: NOT_SO_EXIT_CODE });
      }
      await hub.clock.sleep(Math.min(LOOK_MS, timeoutMs - waitedMs));
    }
  });
}

const GOAL_WORDS: Record<Goal, string> = {
  settled: "settled",
  revision: "on the template's revision",
  ready: "ready",
};

function goalOf(text: string): Goal {
  const found = GOALS.find((goal) => goal === text);
  if (found) return found;
  const like = nearest(text, GOALS);
  throw new CommandError(
    `--for '${text}' is not known; ${like ? `did you mean '${like}'?` : `use ${GOALS.join(", ")}`}`,
  );
}

function reached(goal: Goal, object: KubeObject): string {
  const { readyReplicas = 0, desiredReplicas = 0, updateRevision = "none" } = statusOf(object);
  const figures = `${readyReplicas} of ${desiredReplicas} instances ready, revision ${updateRevision}`;
  // It is settled, but not on the template's revision: the user should know.
  const { rejectedRevision: rejected } = statusOf(object);
  const but = rejected === undefined ? "" : `; the template's revision ${rejected} was undone or failed`;
  return `${nameOf(object)} is ${GOAL_WORDS[goal]}: ${figures}${but}`;
}

/** Reads the object until the goal is reached, and prints each change on standard error. */
class Watcher {
  readonly #io: Io;
  readonly #hub: Hub;
  readonly #goal: Goal;
  readonly #startedMs: number;
  readonly #noted = new Set<string>();
  #last: KubeObject;
  #stale: string | undefined;
  #told = "";

  constructor(io: Io, hub: Hub, goal: Goal, first: KubeObject) {
    this.#io = io;
    this.#hub = hub;
    this.#goal = goal;
    this.#last = first;
    this.#startedMs = hub.clock.monotonicMs();
  }

  /** Undefined: the hub did not answer. */
  async look(): Promise<Verdict | undefined> {
    try {
      const verdict = await this.#judge(await this.#read());
      this.#last = verdict.object;
      this.#stale = verdict.kind === "not-yet" ? verdict.stale : undefined;
      if (verdict.kind === "not-yet") this.#tell(progressOf(verdict.object, verdict.stale));
      return verdict;
    } catch (error) {
      if (!isTransient(error)) throw error;
      this.#tell(`the hub does not answer: ${explain(error)}`);
      return undefined;
    }
  }

  async lastWords(what: string): Promise<string> {
    const stale = this.#stale === undefined ? "" : `. The status is from before the last edit: ${this.#stale}`;
    return reasons(this.#io, this.#hub, this.#last, what + stale);
  }

  async #read(): Promise<KubeObject> {
    const { client, request } = this.#hub;
    const found = await client.find(STATEFULSETS, this.#last.metadata, request);
    if (found?.metadata.uid === this.#last.metadata.uid && found) return found;
    throw new CommandError(`${nameOf(this.#last)} has been deleted`);
  }

  /** The objects that the status depends on are read first, and the status after them: so it cannot be older. */
  async #judge(object: KubeObject): Promise<Verdict> {
    const before = statusOf(object);
    if (!isReached(this.#goal, before) && !isOutOfReach(this.#goal, before)) return { kind: "not-yet", object };
    const sources = await this.#sources(object);
    if (typeof sources === "string") return { kind: "not-yet", object, stale: sources };
    const now = await this.#read();
    const status = statusOf(now);
    const stale = staleness(now, status, sources);
    if (stale !== undefined) return { kind: "not-yet", object: now, stale };
    if (isReached(this.#goal, status)) return { kind: "reached", object: now };
    return { kind: isOutOfReach(this.#goal, status) ? "out-of-reach" : "not-yet", object: now };
  }

  /** A sentence: they cannot be compared, with the reason. */
  async #sources(object: KubeObject): Promise<Sources | string> {
    const parsed = parseCrossClusterStatefulset(object);
    if (!parsed.ok) return "its spec is not valid";
    let template: KubeObject;
    try {
      template = await findTemplate(this.#hub, parsed.value);
    } catch (error) {
      if (error instanceof CommandError) return error.message;
      throw error;
    }
    const dependencies = new Map<string, string | undefined>();
    const unreadable = new Set<string>();
    for (const dependency of statusOf(object).observedTemplate?.dependencies ?? []) {
      const key = dependencyKey(dependency);
      const namespace = dependency.namespace ?? template.metadata.namespace;
      const found = await this.#readIfAllowed(`${dependency.kind} ${dependency.name}`, async ({ client, request }) => {
        const of = await client.discovery.resource("v1", dependency.kind, request);
        return { object: await client.find(of, { ...(namespace && { namespace }), name: dependency.name }, request) };
      });
      if (found) dependencies.set(key, found.object?.metadata.resourceVersion);
      else unreadable.add(key);
    }
    return { template, dependencies, unreadable, schedule: await this.#schedule(parsed.value.spec, template) };
  }

  /** If the engine schedules, the number of instances comes from it, a moment after the template changed. */
  async #schedule(spec: CrossClusterStatefulset["spec"], template: KubeObject): Promise<EngineSchedule | undefined> {
    if (spec.topology !== undefined || spec.replicas !== undefined) return undefined;
    const [engine] = await findEngines(this.#hub.client, this.#hub.request);
    if (engine === "ocm") return undefined;
    const { namespace } = template.metadata;
    const found = await this.#readIfAllowed("ResourceBindings", async ({ client, request }) => {
      const { items } = await client.listAll(BINDINGS, { ...(namespace && { namespace }), ...request });
      return items.find((binding) => isOf(binding, template));
    });
    return found && scheduleOf(found);
  }

  async #readIfAllowed<T>(what: string, read: (hub: Hub) => Promise<T>): Promise<T | undefined> {
    try {
      return await read(this.#hub);
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error;
      if (!this.#noted.has(what))
        this.#io.stderr.write(`note: an edit of ${what} cannot be detected: you may not read it\n`);
      this.#noted.add(what);
      return undefined;
    }
  }

  #tell(line: string): void {
    if (line === this.#told) return;
    this.#told = line;
    const seconds = Math.round((this.#hub.clock.monotonicMs() - this.#startedMs) / 1000);
    this.#io.stderr.write(`${String(seconds).padStart(5)}s  ${line}\n`);
  }
}

function isOf({ spec }: KubeObject, { apiVersion, kind, metadata }: KubeObject): boolean {
  const of: JsonObject = isJsonObject(spec) && isJsonObject(spec.resource) ? spec.resource : {};
  return of.apiVersion === apiVersion && of.kind === kind && of.name === metadata.name;
}

function scheduleOf({ metadata, spec, status }: KubeObject): EngineSchedule {
  const asked = isJsonObject(spec) ? spec : {};
  const seen = isJsonObject(status) ? status.schedulerObservedGeneration : undefined;
  const clusters = Array.isArray(asked.clusters) ? asked.clusters.filter(isJsonObject) : [];
  const placed = clusters.reduce((sum, { replicas }) => sum + (typeof replicas === "number" ? replicas : 0), 0);
  return {
    asked: typeof asked.replicas === "number" ? asked.replicas : undefined,
    placed: seen === metadata.generation ? placed : undefined,
  };
}

/** One line, without parts that only a clock changes. */
function progressOf(object: KubeObject, stale: string | undefined): string {
  if (stale !== undefined) return stale;
  const { generation } = object.metadata;
  const status = statusOf(object);
  if (status.observedGeneration !== generation) return "the controller has not seen the latest spec yet";
  const { phase = "not seen yet", readyReplicas = 0, updatedReplicas = 0, desiredReplicas = 0, step } = status;
  const where = step?.cluster === undefined ? "" : ` ${step.cluster}`;
  const why = step?.reason ?? status.reason;
  return `${phase}${where}: ${readyReplicas}/${desiredReplicas} ready, ${updatedReplicas}/${desiredReplicas} updated${why === undefined ? "" : `, ${why}`}`;
}

/** What is not reached, why, and what to do. */
async function reasons(io: Io, { client, request }: Hub, object: KubeObject, what: string): Promise<string> {
  const parsed = parseCrossClusterStatefulset(object);
  const [engine] = await findEngines(client, request);
  const why = whyOf({
    program: io.program,
    engine,
    object,
    spec: parsed.ok ? parsed.value.spec : undefined,
    status: statusOf(object),
    ledger: ledgerOf(object),
  });
  const reason = why.reason === undefined ? why.sentence : `${why.reason}: ${why.sentence}`;
  const remedy =
    why.remedy.length === 0 ? "" : `\n${why.needsPerson ? "Remedy" : "Check"}:\n  ${why.remedy.join("\n  ")}`;
  return `${nameOf(object)} ${what}\n${reason}${remedy}`;
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}
