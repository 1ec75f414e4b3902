/**
 * Renders a chart: once for its objects, and again to see whether the next render would give the same. In between,
 * `lookup` sees what the first one made, as it would after the release; so a chart that keeps its generated passwords by
 * looking them up counts as stable.
 */
import type { KubeObject } from "../../kube/index.ts";
import { objectsFromText } from "../read/from-text.ts";
import { identityOf } from "../read/objects.ts";
import { RefusalError } from "../refusal.ts";
import type { RenderedObject, RenderRequest } from "../types.ts";
import { type Difference, differencesBetween } from "./determinism.ts";
import { refuseForeignReferences } from "./schema.ts";
import { withoutSecrets } from "./secrets.ts";
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
  await refuseForeignReferences(source.chart.files, tools.reader.clock, signal);
  const rendering = new ChartRendering(tools, source, request, signal);
  const { pass, differences } = await rendering.settled(await rendering.first());
  const restart = differences.find(({ effect }) => effect === "Restart");
  if (restart && request.lookups !== "Empty") throw notDeterministic(restart);
  return {
    objects: pass.objects,
    warnings: [
      ...programWarnings(pass.stderr, (text) => withoutSecrets(text, source, request.previousObjects)),
      ...wordWarnings(source.chart.files),
      ...differences.filter(({ effect }) => effect !== "Harmless").map(warningOf),
    ],
  };
}

/** What one run of helm gave. */
interface Pass {
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly objects: readonly RenderedObject[];
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

  async first(): Promise<Pass> {
    const { lookups, previousObjects, namespace } = this.#request;
    const { result, asked } = await this.#run(previousObjects, () => lookups === "Refuse");
    if (result.kind === "failed") throw this.#failure(result, asked);
    const pass = await this.#read(result);
    const own = [...previousObjects, ...pass.objects.map(({ object }) => object)];
    const isForeign = (lookup: Lookup) => !own.some((object) => matches(object, lookup, namespace));
    const foreign = asked.filter(isForeign);
    if (foreign.length === 0) return pass;
    // Once more, with an error for these lookups: helm's message then names the template and its line.
    const again = await this.#run(previousObjects, isForeign);
    throw lookupRefused(foreign, again.result.kind === "failed" ? again.result : undefined);
  }

  /**
   * The render to use, and what another one would change after its objects have been distributed. Many charts generate
   * a password once for their Secret and once more for a checksum of it: only the render after the first, which looks
   * the password up, has the checksum that stays, and using it spares the pods a restart.
   */
  async settled(first: Pass): Promise<{ pass: Pass; differences: Difference[] }> {
    const second = await this.#after(first, this.#request.isUpgrade);
    const found = this.#between(first, second);
    if (found && (isStable(found) || !this.#mayLookUp)) return { pass: first, differences: found };
    if (!(second instanceof RefusalError)) {
      const next = this.#between(second, await this.#after(second, this.#request.isUpgrade));
      if (next && isStable(next)) return { pass: second, differences: next };
    }
    // Some charts generate on install and look up on upgrade only, or refuse to be installed twice.
    const upgraded = await this.#after(first, true);
    const later =
      upgraded instanceof RefusalError ? undefined : this.#between(upgraded, await this.#after(upgraded, true));
    const differences = later ?? found;
    if (differences) return { pass: first, differences };
    throw second;
  }

  /** Undefined if there is no second render. */
  #between(one: Pass, other: Pass | RefusalError): Difference[] | undefined {
    if (other instanceof RefusalError) return undefined;
    return differencesBetween(one.objects, other.objects, this.#request.namespace);
  }

  /** The next render, when the objects of this one have been distributed; or why it would fail. */
  async #after(pass: Pass, isUpgrade: boolean): Promise<Pass | RefusalError> {
    const { namespace, previousObjects } = this.#request;
    const own = new Map<string, KubeObject>();
    for (const object of [...previousObjects, ...pass.objects.map((rendered) => rendered.object)]) {
      own.set(identityOf(object, namespace), object);
    }
    const { result, asked } = await this.#run([...own.values()], () => false, isUpgrade);
    if (result.kind === "failed") return this.#failure(result, asked);
    // Most charts print the same again, and parsing takes longer than rendering.
    return result.stdout.equals(pass.stdout) ? pass : this.#read(result);
  }

  async #read({ stdout, stderr }: { stdout: Buffer; stderr: string }): Promise<Pass> {
    const { namespace } = this.#request;
    const text = stdout.toString("utf8");
    const objects = await objectsFromText(this.#tools.reader, text, { hasHooks: true, namespace }, this.#signal);
    return { stdout, stderr, objects };
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

function isStable(differences: readonly Difference[]): boolean {
  return differences.every(({ effect }) => effect !== "Restart");
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
