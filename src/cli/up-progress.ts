/** What `lockstep up` shows while the example becomes ready. */
import type { KubeObject } from "../kube/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";

export interface Screen {
  readonly isTerminal: boolean;
  write(text: string): void;
}

/** Draws the picture anew in place on a terminal; when piped, only the lines that are new. */
export class Progress {
  readonly #screen: Screen;
  #shown: readonly string[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  show(lines: readonly string[]): void {
    if (!this.#screen.isTerminal) {
      for (const line of lines) if (!this.#shown.includes(line)) this.#screen.write(`${line}\n`);
    } else if (lines.join("\n") !== this.#shown.join("\n")) {
      const back = this.#shown.length > 0 ? `\u001b[${this.#shown.length}A\u001b[J` : "";
      this.#screen.write(`${back}${lines.join("\n")}\n`);
    }
    this.#shown = lines;
  }
}

/** One line per cluster, and one for the whole. */
export function progressLines(object: KubeObject | undefined): string[] {
  const status = isJsonObject(object?.status) ? object.status : {};
  // A cluster that has nothing yet is no news; a fleet may have fifty of them.
  const rows = (Array.isArray(status.clusters) ? status.clusters.filter(isJsonObject) : []).filter(hasInstances);
  const width = Math.max(0, ...rows.map(({ name }) => String(name).length));
  const lines = rows.map((row) => `  ${clusterLine(row, width)}`);
  const ready = `${status.readyReplicas ?? 0} of ${status.desiredReplicas ?? 0} instances ready`;
  const whole = `  ${String(object?.metadata.name ?? "")}: ${String(status.phase ?? "Pending")}, ${ready}`;
  return rows.length === 0 ? [] : [...lines, whole];
}

export function isReady(object: KubeObject | undefined): boolean {
  const status = isJsonObject(object?.status) ? object.status : {};
  return status.phase === "Settled" && status.observedGeneration === object?.metadata.generation;
}

function hasInstances({ ordinals }: JsonObject): boolean {
  return Array.isArray(ordinals) && ordinals.length > 0;
}

function clusterLine({ name, phase, ordinals, observed, granted }: JsonObject, width: number): string {
  const count = (value: unknown, field: string) => (isJsonObject(value) ? Number(value[field] ?? 0) : 0);
  const numbers = Array.isArray(ordinals) ? ordinals.join(" ") : "";
  const ready = `${count(observed, "ready")}/${count(granted, "replicas")}`;
  return `${String(name).padEnd(width)}  ${ready} ready  ${String(phase ?? "Pending").padEnd(9)}  ordinals ${numbers}`;
}
