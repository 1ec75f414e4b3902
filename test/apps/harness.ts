/** A renderer on the real programs, and requests for the test charts. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ChartLocation,
  createRenderer,
  type Refused,
  type Rendered,
  type Renderer,
  type RendererOptions,
  type RenderRequest,
  type RenderResult,
} from "../../src/charts/index.ts";
import { type JsonObject, silentLog, systemClock, systemRandom } from "../../src/runtime/index.ts";
import { ensurePrograms } from "../tools/programs.ts";

export interface RealRenderer extends Renderer {
  readonly helm: string;
  readonly kustomize: string;
  readonly workFolder: string;
  /** What runs have left behind: always nothing. */
  leftovers(): string[];
  stop(): void;
}

export async function realRenderer(options: Partial<RendererOptions> = {}): Promise<RealRenderer> {
  const programs = await ensurePrograms(["helm", "kustomize"]);
  const workFolder = mkdtempSync(join(tmpdir(), "lockstep-apps-"));
  const renderer = createRenderer({
    ...programs,
    searchPath: "",
    workFolder,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    allowLoopback: true,
    keepSourceMs: 0,
    ...options,
  });
  return {
    ...programs,
    workFolder,
    render: (request, signal) => renderer.render(request, signal),
    programs: () => renderer.programs(),
    leftovers: () => readdirSync(workFolder),
    stop: () => rmSync(workFolder, { recursive: true, force: true }),
  };
}

export function chartRequest(
  chart: ChartLocation | Uint8Array,
  values: readonly JsonObject[] = [],
  more: Partial<RenderRequest> = {},
): RenderRequest {
  const location = chart instanceof Uint8Array ? { archive: { bytes: chart } } : chart;
  return {
    source: { kind: "helm", chart: location, releaseName: "mine", values },
    namespace: "default",
    kubeVersion: "v1.36.4",
    apiVersions: [],
    isUpgrade: false,
    lookups: "Own",
    previousObjects: [],
    tenant: "default",
    ...more,
  };
}

export const never = new AbortController().signal;

export function rendered(result: RenderResult): Rendered {
  if (result.kind === "rendered") return result;
  throw new Error(`refused, ${result.reason}: ${result.message} (${result.remedy})`);
}

export function refused(result: RenderResult): Refused {
  if (result.kind === "refused") return result;
  throw new Error("it was rendered");
}
