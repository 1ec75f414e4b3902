import type { Clock } from "../../runtime/index.ts";
import type { Bundled } from "./bundler.ts";

export interface RenderingOptions {
  readonly clock: Clock;
  readonly changed: (key: string) => void;
  /** Ends all renderings. */
  readonly signal: AbortSignal;
}

type Render = (signal: AbortSignal) => Promise<Bundled>;

interface Rendering {
  readonly attempt: string;
  readonly stop: AbortController;
  outcome?: { readonly made: Bundled } | { readonly error: unknown };
}

/** Most sources are rendered within this time. A host that does not answer must hold no worker up any longer. */
const PATIENCE_MS = 500;

/**
 * Renders in the background: sources of one tenant may take half a minute each, and the workers that wait for them are
 * those of all applications. Of each application one rendering is under way: what an edit makes useless ends at once.
 */
export class Renderings {
  readonly #options: RenderingOptions;
  readonly #running = new Map<string, Rendering>();

  constructor(options: RenderingOptions) {
    this.#options = options;
    const endAll = () => {
      for (const { stop } of this.#running.values()) stop.abort(options.signal.reason);
    };
    options.signal.addEventListener("abort", endAll, { once: true });
  }

  /** What was rendered for this attempt, once; undefined: it is being rendered, and `changed` is called when it is done. */
  async of(key: string, attempt: string, render: Render): Promise<Bundled | undefined> {
    const known = this.#running.get(key);
    if (known && known.attempt !== attempt) known.stop.abort(new Error("the source has changed meanwhile"));
    const rendering = known?.attempt === attempt ? known : await this.#start(key, attempt, render);
    const { outcome } = rendering;
    if (!outcome) return undefined;
    if (this.#running.get(key) === rendering) this.#running.delete(key);
    if ("error" in outcome) throw outcome.error;
    return outcome.made;
  }

  forget(key: string): void {
    this.#running.get(key)?.stop.abort(new Error("the application is gone"));
    this.#running.delete(key);
  }

  async #start(key: string, attempt: string, render: Render): Promise<Rendering> {
    const { clock, changed } = this.#options;
    const stop = new AbortController();
    const rendering: Rendering = { attempt, stop };
    this.#running.set(key, rendering);
    const done = render(stop.signal).then(
      (made) => {
        rendering.outcome = { made };
      },
      (error: unknown) => {
        rendering.outcome = { error };
      },
    );
    let noMore = () => {};
    const patience = new Promise<void>((resolve) => {
      noMore = clock.after(PATIENCE_MS, resolve);
    });
    await Promise.race([done, patience]);
    noMore();
    if (!rendering.outcome) void done.then(() => this.#running.get(key) === rendering && changed(key));
    return rendering;
  }
}
