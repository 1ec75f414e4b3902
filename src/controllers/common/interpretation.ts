import type { Interpreter, InterpreterOptions, ObjectReport } from "../../interpret/index.ts";
import { type KubeClient, type KubeObject, Reflector, UnknownKindError } from "../../kube/index.ts";
import { type Clock, type JsonObject, type Log, type Random, retryDelayMs } from "../../runtime/index.ts";
import type { Announcer } from "./announcer.ts";

interface Source {
  readonly apiVersion: string;
  readonly kind: string;
  readonly feeds: "customizations" | "webhooks";
}

/** Where the hub's users say how their kinds are read. */
const SOURCES: readonly Source[] = [
  { apiVersion: "config.karmada.io/v1alpha1", kind: "ResourceInterpreterCustomization", feeds: "customizations" },
  { apiVersion: "config.karmada.io/v1alpha1", kind: "ResourceInterpreterWebhookConfiguration", feeds: "webhooks" },
  { apiVersion: "config.karmada.io/v1alpha1", kind: "ResourceExploringWebhookConfiguration", feeds: "webhooks" },
];

const IN_FORCE: Record<ObjectReport["inForce"], string> = {
  this: "(the rest of it is in force)",
  old: "(its last good version stays in force)",
  part: "(what is good of it is in force)",
};

/** If the hub does not serve a kind, the controller looks for it again after this: a user may install its CRD. */
const MISSING_KIND_BASE_MS = 5_000;
const MISSING_KIND_MAX_MS = 60_000;

/** Templates are read from the hub, so their kinds have been discovered before anything of them is interpreted. */
export function discovered({ discovery }: Pick<KubeClient, "discovery">): NonNullable<InterpreterOptions["resources"]> {
  return ({ group, version, kind }) => {
    const found = discovery.known(group === "" ? version : `${group}/${version}`, kind);
    return found && { resource: found.plural, namespaced: found.namespaced };
  };
}

export interface InterpretationOptions {
  readonly hub: KubeClient;
  readonly interpreter: Interpreter;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly announcer: Announcer;
  /** What the interpreter answers may have changed. */
  readonly changed: () => void;
}

/** Keeps the interpreter's customizations and webhooks as the hub has them. */
export class Interpretation {
  readonly #options: InterpretationOptions;
  readonly #objects = new Map<string, () => readonly KubeObject[]>();
  /** The last report about each object, so that each is announced once. */
  readonly #said = new Map<string, string>();

  constructor(options: InterpretationOptions) {
    this.#options = options;
  }

  /** Runs until aborted. `loaded` is called once everything that there is has been read. */
  async run(signal: AbortSignal, loaded: () => void): Promise<void> {
    let missing = SOURCES.length;
    const first = () => {
      missing--;
      if (missing === 0) loaded();
    };
    await Promise.all(SOURCES.map((source) => this.#follow(source, signal, first)));
  }

  async #follow(source: Source, signal: AbortSignal, first: () => void): Promise<void> {
    const { hub, clock, random, log } = this.#options;
    let announced = false;
    const announce = () => {
      if (!announced) first();
      announced = true;
    };
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const resource = await hub.discovery.resource(source.apiVersion, source.kind, { signal });
        const reflector = new Reflector<KubeObject>({ client: hub, resource, clock, random, log });
        this.#objects.set(source.kind, () => reflector.cache.list());
        const running = reflector.run(signal);
        await reflector.cache.synced(signal);
        const feed = () => this.#feed(source.feeds);
        feed();
        announce();
        reflector.cache.subscribe({ added: feed, updated: feed, deleted: feed });
        return await running;
      } catch (error) {
        if (signal.aborted) return;
        // Only a kind that the hub surely does not serve has no objects. After any other error, nothing is known yet.
        if (error instanceof UnknownKindError) announce();
        else log.warn("how kinds are read could not be learned", { kind: source.kind, reason: String(error) });
        const pauseMs = retryDelayMs(attempt, MISSING_KIND_BASE_MS, MISSING_KIND_MAX_MS, random);
        await clock.sleep(pauseMs, signal).catch(() => {});
      }
    }
  }

  #feed(what: Source["feeds"]): void {
    const objects: JsonObject[] = SOURCES.filter(({ feeds }) => feeds === what).flatMap(({ kind }) => [
      ...(this.#objects.get(kind)?.() ?? []),
    ]);
    if (what === "customizations") this.#options.interpreter.setCustomizations(objects);
    else this.#options.interpreter.setWebhooks(objects);
    for (const report of this.#options.interpreter.reports()) this.#tell(report);
    this.#options.changed();
  }

  /** Reports an unusable configuration as an Event on that object, where its author looks, with field and line. */
  #tell({ kind, name, problems, inForce }: ObjectReport): void {
    const key = `${kind}/${name}`;
    const text = problems.map(
      ({ field, line, reason }) => `${field}${line === undefined ? "" : `, line ${line}`}: ${reason}`,
    );
    const message = text.length === 0 ? "" : `${text.join("; ")} ${IN_FORCE[inForce]}`;
    if ((this.#said.get(key) ?? "") === message) return;
    this.#said.set(key, message);
    const object = this.#objects
      .get(kind)?.()
      .find(({ metadata }) => metadata.name === name);
    if (object && message !== "") this.#options.announcer.event(object, "Warning", "NotUsable", message);
  }
}
