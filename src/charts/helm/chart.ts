/**
 * Renders a chart: once for its objects, and once more to see whether the next render would give the same. Between the
 * two, `lookup` sees what the first one made, as it would after the release; so a chart that keeps its generated
 * passwords by looking them up counts as stable.
 */
import type { KubeObject } from "../../kube/index.ts";
import { identityOf } from "../read/objects.ts";
import { RefusalError } from "../refusal.ts";
import type { RenderedObject, RenderRequest } from "../types.ts";
import { type Difference, differencesBetween } from "./determinism.ts";
import { refuseForeignReferences } from "./schema.ts";
import { describeLookup, type Lookup, matches } from "./stand-in.ts";
import { checkNames, type HelmFailure, type HelmRun, type HelmSource, type HelmTools, runHelm } from "./template.ts";
import { programWarnings, wordWarnings } from "./warnings.ts";

export interface RenderedChart {
  readonly objects: readonly RenderedObject[];
  readonly warnings: readonly string[];
}

const ALLOW_EMPTY = "set 'lookups: Empty' to render without looking anything up";

export async function renderChart(
  tools: HelmTools,
  source: HelmSource,
  request: RenderRequest,
  signal: AbortSignal,
): Promise<RenderedChart> {
  checkNames(source, request);
  refuseForeignReferences(source.chart.files);
  const rendering = new ChartRendering(tools, source, request, signal);
  const first = await rendering.first();
  const differences = await rendering.differences(first.objects);
  const restart = differences.find(({ effect }) => effect === "Restart");
  if (restart && request.lookups !== "Empty") throw notDeterministic(restart);
  return {
    objects: first.objects,
    warnings: [
      ...programWarnings(first.stderr),
      ...wordWarnings(source.chart.files),
      ...differences.filter(({ effect }) => effect !== "Harmless").map(warningOf),
    ],
  };
}

class ChartRendering {
  readonly #tools: HelmTools;
  readonly #source: HelmSource;
  readonly #request: RenderRequest;
  readonly #signal: AbortSignal;
  /** A chart without the word cannot look anything up, so it is rendered without any network. */
  readonly #mayLookUp: boolean;

  constructor(tools: HelmTools, source: HelmSource, request: RenderRequest, signal: AbortSignal) {
    this.#tools = tools;
    this.#source = source;
    this.#request = request;
    this.#signal = signal;
    this.#mayLookUp = request.lookups !== "Empty" && mentionsLookup(source);
  }

  async first(): Promise<{ objects: readonly RenderedObject[]; stderr: string }> {
    const { lookups, previousObjects, namespace } = this.#request;
    const { result, asked } = await this.#run(previousObjects, () => lookups === "Refuse");
    if (result.kind === "failed") throw this.#failure(result, asked);
    const own = [...previousObjects, ...result.objects.map(({ object }) => object)];
    const isForeign = (lookup: Lookup) => !own.some((object) => matches(object, lookup, namespace));
    const foreign = asked.filter(isForeign);
    if (foreign.length === 0) return result;
    // Once more, with an error for these lookups: helm's message then names the template and its line.
    const again = await this.#run(previousObjects, isForeign);
    throw lookupRefused(foreign, again.result.kind === "failed" ? again.result : undefined);
  }

  /** What another render would change, after the objects of this one have been distributed. */
  async differences(objects: readonly RenderedObject[]): Promise<Difference[]> {
    const { namespace, isUpgrade } = this.#request;
    const second = await this.#after(objects, isUpgrade);
    const found = differencesBetween(objects, second, namespace);
    if (isUpgrade || !this.#mayLookUp || !found.some(({ effect }) => effect === "Restart")) return found;
    // Some charts generate on install and look up on upgrade only.
    const upgraded = await this.#after(objects, true);
    return differencesBetween(upgraded, await this.#after(upgraded, true), namespace);
  }

  async #after(objects: readonly RenderedObject[], isUpgrade: boolean): Promise<RenderedObject[]> {
    const { namespace, previousObjects } = this.#request;
    const own = new Map<string, KubeObject>();
    for (const object of [...previousObjects, ...objects.map((rendered) => rendered.object)]) {
      own.set(identityOf(object, namespace), object);
    }
    const { result, asked } = await this.#run([...own.values()], () => false, isUpgrade);
    if (result.kind === "failed") throw this.#failure(result, asked);
    return result.objects;
  }

  #run(
    objects: readonly KubeObject[],
    refuses: (lookup: Lookup) => boolean,
    isUpgrade = this.#request.isUpgrade,
  ): Promise<HelmRun> {
    const answers = this.#mayLookUp ? { objects, refuses } : undefined;
    return runHelm(this.#tools, this.#source, { ...this.#request, isUpgrade }, answers, this.#signal);
  }

  #failure(failure: HelmFailure, asked: readonly Lookup[]): RefusalError {
    if (failure.lookup) return lookupRefused(asked, failure);
    const unseen = asked.map(describeLookup);
    const hint =
      unseen.length > 0 ? `; its lookup of ${[...new Set(unseen)].slice(0, 3).join(", ")} found nothing` : "";
    return new RefusalError("RenderFailed", failure.message, `correct the chart or its values${hint}`);
  }
}

/** In its files, or in values that a template may run as a template. */
function mentionsLookup({ chart, values }: HelmSource): boolean {
  const inFiles = chart.files.some(({ bytes }) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes("lookup"),
  );
  return inFiles || JSON.stringify(values).includes("lookup");
}

function lookupRefused(lookups: readonly Lookup[], failure: HelmFailure | undefined): RefusalError {
  const names = [...new Set(lookups.map(describeLookup))].slice(0, 5).join(", ");
  const message = failure?.lookup
    ? `${failure.lookup.place}: lookup was refused: ${failure.lookup.why}`
    : `the chart looks up ${names}, which this application does not distribute`;
  return new RefusalError("LookupRefused", message, `give what it looks up as a value; or ${ALLOW_EMPTY}`);
}

function notDeterministic({ object, template, field }: Difference): RefusalError {
  return new RefusalError(
    "NotDeterministic",
    `${template ? `${template}: ` : ""}${object}: ${field} differs between two renders of the same inputs`,
    "give the random value (a password, a certificate, a name) as a value; or set 'lookups: Empty' to accept that " +
      "a later render changes it and may restart pods",
  );
}

function warningOf({ object, field, effect }: Difference): string {
  const consequence =
    effect === "Restart" ? "a later render restarts its pods or replaces it" : "a later render changes it";
  return `${object}: ${field} differs between two renders of the same inputs; it is kept until then, and ${consequence}`;
}
