/** What `lockstep up` shows while the example becomes ready. */
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import type { Style } from "../../terminal/output.ts";
import { paintPhase } from "../status/view.ts";

export interface Screen {
  readonly isTerminal: boolean;
  readonly style: Style;
  write(text: string): void;
}

/** Redraws the picture in place on a terminal; when piped, prints only the new lines. */
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
export function progressLines(object: KubeObject | undefined, style: Style): string[] {
  const status = isJsonObject(object?.status) ? object.status : {};
  // A cluster without instances is not shown; a fleet may have fifty of them.
  const rows = (Array.isArray(status.clusters) ? status.clusters.filter(isJsonObject) : []).filter(hasInstances);
  const width = Math.max(0, ...rows.map(({ name }) => String(name).length));
  const lines = rows.map((row) => `  ${clusterLine(row, width, style)}`);
  const ready = `${status.readyReplicas ?? 0} of ${status.desiredReplicas ?? 0} instances ready`;
  const phase = paintPhase(typeof status.phase === "string" ? status.phase : "Pending", style);
  return rows.length === 0 ? [] : [...lines, `  ${String(object?.metadata.name ?? "")}: ${phase}, ${ready}`];
}

export function isReady(object: KubeObject | undefined): boolean {
  const status = isJsonObject(object?.status) ? object.status : {};
  return status.phase === "Settled" && status.observedGeneration === object?.metadata.generation;
}

function hasInstances({ ordinals }: JsonObject): boolean {
  return Array.isArray(ordinals) && ordinals.length > 0;
}

function clusterLine({ name, phase, instances, observed, granted }: JsonObject, width: number, style: Style): string {
  const count = (value: unknown, field: string) => (isJsonObject(value) ? Number(value[field] ?? 0) : 0);
  const names = (Array.isArray(instances) ? instances.filter(isJsonObject) : []).map((instance) => instance.name);
  const ready = `${count(observed, "ready")}/${count(granted, "replicas")}`;
  const shown = paintPhase(typeof phase === "string" ? phase : "Pending", style, LONGEST_PHASE_CHARS);
  return `${style.bold(String(name).padEnd(width))}  ${ready} ready  ${shown}  ${names.join(" ")}`;
}

const LONGEST_PHASE_CHARS = "Deploying".length;
