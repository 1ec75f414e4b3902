import {
  type Clock,
  canonicalText,
  type Json,
  type JsonObject,
  type Log,
  LruMap,
  type Random,
} from "../runtime/index.ts";
import { checkedChart, unpack } from "./archive/chart.ts";
import { renderChart } from "./helm/chart.ts";
import { buildKustomization } from "./kustomize/build.ts";
import { CHART_LIMITS, type ChartLimits } from "./limits.ts";
import { objectsFromText, type TextReader } from "./read/from-text.ts";
import { digestOf, objectsOf } from "./read/objects.ts";
import { RefusalError } from "./refusal.ts";
import { findProgram, type ProgramName } from "./run/find.ts";
import { WorkFolder } from "./run/folder.ts";
import { ProgramRunner } from "./run/program.ts";
import { Shared } from "./run/shared.ts";
import { Slots } from "./run/slots.ts";
import { sha256 } from "./source/digest.ts";
import { SourceHttp } from "./source/http.ts";
import { type FetchedArchive, Sources } from "./source/sources.ts";
import type {
  ChartSource,
  ProgramReport,
  ProgramStatus,
  Rendered,
  RenderedObject,
  Renderer,
  RenderRequest,
  RenderResult,
} from "./types.ts";

export interface RendererOptions {
  /** Paths of the programs, or names to look for on `searchPath`. */
  readonly helm?: string;
  readonly kustomize?: string;
  /** As in PATH. */
  readonly searchPath: string;
  /** Every run has a folder of its own below it, removed when the run ends. */
  readonly workFolder: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits?: Partial<ChartLimits>;
  /** Programs that run at a time; each may take a core and `limits.programMemoryKiB`. */
  readonly concurrency?: number;
  /** For development and tests: sources on loopback, also over plain HTTP. */
  readonly allowLoopback?: boolean;
  /** How long what a repository or a registry answered holds. */
  readonly keepSourceMs?: number;
}

const CONCURRENCY = 2;
const KEEP_SOURCE_MS = 60_000;
/** A program that is missing is looked for again after this time: it may have been installed. */
const LOOK_AGAIN_MS = 60_000;
const KEPT_RESULTS = 512;
const KEPT_RESULT_BYTES = 64 * 1024 * 1024;

export function createRenderer(options: RendererOptions): Renderer {
  return new ProgramRenderer(options);
}

/** What a source becomes before its key is known: the key says what the result depends on. */
interface Prepared {
  readonly key: Json;
  readonly sourceDigest?: string;
  readonly render: (signal: AbortSignal) => Promise<Omit<Rendered, "kind" | "digest" | "sourceDigest">>;
}

class ProgramRenderer implements Renderer {
  readonly #options: RendererOptions;
  readonly #limits: ChartLimits;
  readonly #reader: TextReader;
  readonly #runner: ProgramRunner;
  readonly #slots: Slots;
  readonly #sources: Sources;
  readonly #results = new LruMap<string, RenderResult>(KEPT_RESULTS, KEPT_RESULT_BYTES);
  readonly #running = new Shared<RenderResult>();
  #swept: Promise<void> | undefined;
  readonly #programs = new Map<ProgramName, { status: Promise<ProgramStatus>; atMs: number }>();

  constructor(options: RendererOptions) {
    const { clock } = options;
    this.#options = options;
    this.#limits = { ...CHART_LIMITS, ...options.limits };
    this.#reader = { clock, limits: this.#limits };
    this.#runner = new ProgramRunner({ clock, limits: this.#limits });
    this.#slots = new Slots(options.concurrency ?? CONCURRENCY);
    this.#sources = new Sources({
      clock,
      limits: this.#limits,
      keepMs: options.keepSourceMs ?? KEEP_SOURCE_MS,
      http: new SourceHttp({
        clock,
        timeoutMs: this.#limits.requestTimeoutMs,
        allowLoopback: options.allowLoopback ?? false,
      }),
    });
  }

  async programs(): Promise<ProgramReport> {
    const [helm, kustomize] = await Promise.all([this.#find("helm"), this.#find("kustomize")]);
    const network = (await this.#runner.hasNetworkNamespaces()) ? "Namespace" : "DeadProxies";
    return { helm, kustomize, network };
  }

  async render(request: RenderRequest, signal: AbortSignal): Promise<RenderResult> {
    try {
      signal.throwIfAborted();
      this.#swept ??= WorkFolder.sweep(this.#options.workFolder, this.#options.clock.now());
      await this.#swept;
      const prepared = await this.#prepare(request, signal);
      const key = sha256(canonicalText(prepared.key));
      const kept = this.#results.get(key);
      if (kept) return kept;
      // Two requests with the same inputs share one render, and so its random values.
      return await this.#running.do(key, signal, () =>
        this.#slots.within(request.tenant, signal, () => this.#render(key, prepared, signal)),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RefusalError) return error.toResult();
      this.#options.log.error("rendering failed unexpectedly", { error: String(error) });
      const message = `rendering failed: ${error instanceof Error ? error.message : String(error)}`;
      return {
        kind: "refused",
        reason: "RenderFailed",
        message,
        remedy: "it is tried again; see the controller's log",
      };
    }
  }

  async #render(key: string, prepared: Prepared, signal: AbortSignal): Promise<RenderResult> {
    const { sourceDigest } = prepared;
    let result: RenderResult;
    try {
      const rendered = await prepared.render(signal);
      result = {
        kind: "rendered",
        ...rendered,
        digest: digestOf(rendered.objects),
        ...(sourceDigest !== undefined && { sourceDigest }),
      };
    } catch (error) {
      if (!(error instanceof RefusalError) || signal.aborted) throw error;
      result = error.toResult();
      if (error.isTransient) return result;
    }
    this.#results.set(key, result, JSON.stringify(result).length);
    return result;
  }

  async #prepare(request: RenderRequest, signal: AbortSignal): Promise<Prepared> {
    const { source, namespace } = request;
    switch (source.kind) {
      case "helm":
        return this.#prepareChart(request, source, signal);
      case "kustomize":
        return this.#prepareKustomization(request, source, signal);
      case "manifests": {
        const documents = source.objects.map((value) => ({ value }));
        const options = { hasHooks: false, namespace, limits: this.#limits };
        return {
          key: ["manifests", namespace, [...source.objects]],
          render: async () => plain(objectsOf(documents, options)),
        };
      }
      case "manifestText": {
        const { text } = source;
        const render = async (given: AbortSignal) =>
          plain(await objectsFromText(this.#reader, text, { hasHooks: false, namespace }, given));
        return { key: ["text", namespace, text], render };
      }
    }
  }

  async #prepareChart(
    request: RenderRequest,
    source: Extract<ChartSource, { kind: "helm" }>,
    signal: AbortSignal,
  ): Promise<Prepared> {
    const program = await this.#program("helm");
    const fetched = await this.#sources.chart(source.chart, request.tenant, signal);
    const { releaseName, values, secretValues = [] } = source;
    const { apiVersions, isUpgrade, kubeVersion, lookups, namespace, previousObjects, tenant } = request;
    const key: JsonObject = {
      tenant,
      program: program.version,
      chart: fetched.digest,
      releaseName,
      values: [...values],
      secretValues: [...secretValues],
      namespace,
      kubeVersion,
      apiVersions: apiVersions.toSorted(),
      isUpgrade,
      lookups,
      previous: lookups === "Own" ? previousObjects.map((object) => canonicalText(object)).toSorted() : [],
    };
    const tools = { ...this.#tools(program.path), version: program.version, random: this.#options.random };
    const render = async (given: AbortSignal) => {
      const chart = await checkedChart(fetched.bytes, fetched.name, this.#reader, given);
      const rendered = await renderChart(tools, { chart, releaseName, values, secretValues }, request, given);
      return { ...rendered, chartVersion: chart.version };
    };
    return { key, sourceDigest: fetched.digest, render };
  }

  async #prepareKustomization(
    { namespace, tenant }: RenderRequest,
    { archive, path }: Extract<ChartSource, { kind: "kustomize" }>,
    signal: AbortSignal,
  ): Promise<Prepared> {
    const program = await this.#program("kustomize");
    const fetched: FetchedArchive = await this.#sources.archive(archive, tenant, signal);
    const render = async (given: AbortSignal) => {
      const files = await unpack(fetched.bytes, fetched.name, this.#limits);
      return plain(await buildKustomization(this.#tools(program.path), { files, path, namespace }, given));
    };
    return {
      key: ["kustomize", program.version, fetched.digest, path, namespace],
      sourceDigest: fetched.digest,
      render,
    };
  }

  #tools(program: string) {
    return { program, workFolder: this.#options.workFolder, runner: this.#runner, reader: this.#reader };
  }

  async #program(name: ProgramName): Promise<Extract<ProgramStatus, { kind: "found" }>> {
    const status = await this.#find(name);
    if (status.kind === "found") return status;
    throw new RefusalError("ProgramMissing", status.message, status.remedy, { isTransient: true });
  }

  async #find(name: ProgramName): Promise<ProgramStatus> {
    const { clock, searchPath, workFolder } = this.#options;
    const known = this.#programs.get(name);
    if (known) {
      const status = await known.status;
      if (status.kind === "found" || clock.monotonicMs() - known.atMs < LOOK_AGAIN_MS) return status;
    }
    const places = { given: this.#options[name] ?? name, searchPath, workFolder };
    const status = findProgram(name, places, this.#runner);
    this.#programs.set(name, { status, atMs: clock.monotonicMs() });
    return status;
  }
}

function plain(objects: readonly RenderedObject[]): Pick<Rendered, "objects" | "warnings"> {
  return { objects, warnings: [] };
}
