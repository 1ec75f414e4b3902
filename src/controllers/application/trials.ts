import type { Engine } from "../../engine/index.ts";
import type { RevisionId } from "../../rollout/index.ts";
import { type Clock, type Log, LruMap } from "../../runtime/index.ts";
import { type Bundle, partsFor } from "./content.ts";

export interface TrialOptions {
  readonly engine: Pick<Engine, "member">;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly changed: (key: string) => void;
}

/** What the members' own API servers said about a revision, before anything of it moved. */
export interface Trial {
  readonly refused?: { readonly cluster: string; readonly message: string };
  readonly accepted: readonly string[];
  /** Clusters that could not be asked: their first object shows the answer. */
  readonly untried: ReadonlyArray<{ readonly cluster: string; readonly message: string }>;
}

interface State {
  readonly trial?: Trial;
  readonly atMs: number;
}

const REMEMBERED_MAX = 10_000;
/** A refusal may be of today only (a quota, a webhook that is down): it is tried again after this. */
const REFUSED_MS = 30_000;
/** Requests to one member at a time. */
const AT_A_TIME = 4;

/** [A24] Tries every object of a revision on every cluster in the background, before the first of them moves. */
export class Trials {
  readonly #options: TrialOptions;
  readonly #states = new LruMap<string, State>(REMEMBERED_MAX);

  constructor(options: TrialOptions) {
    this.#options = options;
  }

  /** Undefined: the members are being asked. */
  of(key: string, uid: string, id: RevisionId, bundle: Bundle, clusters: readonly string[]): Trial | undefined {
    const name = `${uid}/${id}`;
    const state = this.#states.get(name);
    const nowMs = this.#options.clock.monotonicMs();
    const isOld = state?.trial?.refused !== undefined && nowMs - state.atMs >= REFUSED_MS;
    if (state && !isOld) return state.trial;
    this.#states.set(name, { atMs: nowMs });
    void this.#run(key, name, bundle, clusters);
    // While it is asked again, the old answer stands.
    return state?.trial;
  }

  /** The answer, as far as this process has asked. */
  said(uid: string, id: RevisionId): Trial | undefined {
    return this.#states.get(`${uid}/${id}`)?.trial;
  }

  async #run(key: string, name: string, bundle: Bundle, clusters: readonly string[]): Promise<void> {
    const { clock, log, changed, signal } = this.#options;
    const outcomes = await Promise.all(
      clusters.map((cluster) =>
        this.#tryIn(cluster, bundle).catch((error: unknown): Outcome => {
          log.warn("a dry run failed", { revision: name, cluster, reason: String(error) });
          return { cluster, kind: "untried", message: error instanceof Error ? error.message : String(error) };
        }),
      ),
    );
    if (signal.aborted) return;
    const refused = outcomes.find(({ kind }) => kind === "refused");
    this.#states.set(name, {
      atMs: clock.monotonicMs(),
      trial: {
        ...(refused?.kind === "refused" && { refused: { cluster: refused.cluster, message: refused.message } }),
        accepted: outcomes.filter(({ kind }) => kind === "accepted").map(({ cluster }) => cluster),
        untried: outcomes.flatMap((each) => (each.kind === "untried" ? [each] : [])),
      },
    });
    changed(key);
  }

  async #tryIn(cluster: string, bundle: Bundle): Promise<Outcome> {
    const member = this.#options.engine.member(cluster);
    // A hook of an earlier step is deleted before it runs again: what is there now does not matter.
    const parts = partsFor(bundle, cluster).filter(({ hook }) => !hook);
    let untried: Outcome | undefined;
    for (let at = 0; at < parts.length && !untried; at += AT_A_TIME) {
      const answers = await Promise.all(
        parts.slice(at, at + AT_A_TIME).map(async (part) => ({ part, said: await member.dryRun(part.object) })),
      );
      for (const { part, said } of answers) {
        if (said.kind === "refused") return { cluster, kind: "refused", message: `${part.key}: ${said.message}` };
        if (said.kind === "accepted" || (said.kind === "unknown" && said.isTooEarly)) continue;
        const message = said.kind === "unsupported" ? "Lockstep has no direct access to it" : said.message;
        untried = { cluster, kind: "untried", message };
      }
    }
    return untried ?? { cluster, kind: "accepted" };
  }
}

type Outcome =
  | { readonly cluster: string; readonly kind: "accepted" }
  | { readonly cluster: string; readonly kind: "refused" | "untried"; readonly message: string };
