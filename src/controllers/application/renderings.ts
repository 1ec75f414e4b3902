import type { Clock } from "../../runtime/index.ts";
import type { Bundled } from "./bundler.ts";

export interface RenderingOptions {
  readonly clock: Clock;
  readonly changed: (key: string) => void;
}

interface Rendering {
  readonly attempt: string;
  outcome?: { readonly made: Bundled } | { readonly error: unknown };
}

/** Most sources are rendered within this time. A host that does not answer must hold no worker up any longer. */
const PATIENCE_MS = 500;

/**
 * Renders in the background: sources of one tenant may take half a minute each, and the workers that wait for them are
 * those of all applications.
 */
export class Renderings {
  readonly #options: RenderingOptions;
  readonly #running = new Map<string, Rendering>();

  constructor(options: RenderingOptions) {
    this.#options = options;
  }

  /** What was rendered for this attempt, once; undefined: it is being rendered, and `changed` is called when it is done. */
  async of(key: string, attempt: string, render: () => Promise<Bundled>): Promise<Bundled | undefined> {
    const known = this.#running.get(key);
    const rendering = known?.attempt === attempt ? known : await this.#start(key, attempt, render);
    const { outcome } = rendering;
    if (!outcome) return undefined;
    if (this.#running.get(key) === rendering) this.#running.delete(key);
    if ("error" in outcome) throw outcome.error;
    return outcome.made;
  }

  forget(key: string): void {
    this.#running.delete(key);
  }

  async #start(key: string, attempt: string, render: () => Promise<Bundled>): Promise<Rendering> {
    const { clock, changed } = this.#options;
    const rendering: Rendering = { attempt };
    this.#running.set(key, rendering);
    const done = render().then(
      (made) => {
        rendering.outcome = { made };
      },
      (error: unknown) => {
        rendering.outcome = { error };
      },
    );
    let stop = () => {};
    const patience = new Promise<void>((resolve) => {
      stop = clock.after(PATIENCE_MS, resolve);
    });
    await Promise.race([done, patience]);
    stop();
    if (!rendering.outcome) void done.then(() => this.#running.get(key) === rendering && changed(key));
    return rendering;
  }
}
