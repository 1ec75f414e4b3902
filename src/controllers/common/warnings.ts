import type { KubeObject } from "../../kube/index.ts";
import { REASONS, type Waiting } from "../../rollout/index.ts";
import type { Announcer } from "./announcer.ts";

/** Events about what needs a person: each once until it has gone. */
export class Warnings {
  readonly #announcer: Announcer;
  readonly #said = new Map<string, Set<string>>();

  constructor(announcer: Announcer) {
    this.#announcer = announcer;
  }

  waiting(key: string, object: KubeObject, reasons: readonly Waiting[], sentence: (one: Waiting) => string): void {
    const now = new Map(
      reasons.filter(({ code }) => REASONS[code].needsPerson).map((one) => [`${one.code}/${one.cluster ?? ""}`, one]),
    );
    const before = this.#said.get(key) ?? new Set();
    for (const [id, one] of now) {
      if (before.has(id)) continue;
      const where = one.cluster === undefined ? "" : `${one.cluster}: `;
      this.#announcer.event(object, "Warning", one.code, where + sentence(one));
    }
    this.#said.set(key, new Set(now.keys()));
  }

  refused(key: string, object: KubeObject, reason: string, message: string): void {
    const id = `${reason}/${message}`;
    if (!this.#said.get(key)?.has(id)) this.#announcer.event(object, "Warning", reason, message);
    this.#said.set(key, new Set([id]));
  }

  forget(key: string): void {
    this.#said.delete(key);
  }
}
