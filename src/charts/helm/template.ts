import type { KubeObject } from "../../kube/index.ts";
import type { JsonObject, Random } from "../../runtime/index.ts";
import type { CheckedChart } from "../archive/chart.ts";
import type { TextReader } from "../read/from-text.ts";
import { skippedHook, unknownHook } from "../read/hooks.ts";
import { RefusalError } from "../refusal.ts";
import { WorkFolder } from "../run/folder.ts";
import type { ProgramOutput, ProgramRunner } from "../run/program.ts";
import type { RenderRequest } from "../types.ts";
import { helmError } from "./message.ts";
import { withoutSecrets } from "./secrets.ts";
import { type Lookup, StandIn } from "./stand-in.ts";
import { withStandIn } from "./stand-in-server.ts";

export interface HelmSource {
  readonly chart: CheckedChart;
  readonly releaseName: string;
  readonly values: readonly JsonObject[];
  /** Those of them that come from Secrets. */
  readonly secretValues?: readonly JsonObject[];
}

export interface HelmTools {
  readonly program: string;
  /** `v3.22.0` */
  readonly version: string;
  readonly workFolder: string;
  readonly runner: ProgramRunner;
  readonly reader: TextReader;
  readonly random: Random;
}

/** How one run of helm answers lookups. */
export interface LookupAnswers {
  readonly objects: readonly KubeObject[];
  readonly refuses: (lookup: Lookup) => boolean;
}

export interface HelmRun {
  readonly result: { readonly kind: "ok"; readonly stdout: Buffer; readonly stderr: string } | HelmFailure;
  /** Lookups that found nothing, or asked for a list, or were refused. */
  readonly asked: readonly Lookup[];
}

export interface HelmFailure {
  readonly kind: "failed";
  readonly message: string;
  /** `file:line:column` of the template whose lookup failed, and why. */
  readonly lookup?: { readonly place: string; readonly why: string };
}

/** Runs `helm template` once. `answers` absent: lookup returns nothing, as without a cluster. */
export async function runHelm(
  tools: HelmTools,
  source: HelmSource,
  request: RenderRequest,
  answers: LookupAnswers | undefined,
  signal: AbortSignal,
): Promise<HelmRun> {
  return WorkFolder.within(tools.workFolder, async (folder) => {
    const { apiVersions, kubeVersion, namespace } = request;
    const chart = await folder.write("chart.tgz", source.chart.archive);
    const values: string[] = [];
    for (const [index, layer] of source.values.entries()) {
      values.push(await folder.write(`values-${index}.json`, JSON.stringify(layer)));
    }
    const args = argumentsFor(source, request, chart, values);
    const call = { program: tools.program, args, folder };
    if (!answers) return { result: outcome(source, request, await tools.runner.run(call, signal), folder), asked: [] };
    const standIn = new StandIn({ ...answers, namespace, kubeVersion, apiVersions });
    const output = await withStandIn(standIn, tools.random, async (kubeconfig) => {
      const env = { KUBECONFIG: await folder.write("kubeconfig", kubeconfig) };
      return tools.runner.run(
        { ...call, args: [...args, ...serverArguments(tools)], env, needsLoopback: true },
        signal,
      );
    });
    return { result: outcome(source, request, output, folder), asked: standIn.asked };
  });
}

/**
 * helm 4 also looks whether the server would accept the objects and whether they are there already. That is not asked
 * here: the stand-in knows no schemas, and the objects are this application's own.
 */
function serverArguments({ version }: HelmTools): string[] {
  const unasked = /^v?3\./.test(version) ? [] : ["--disable-openapi-validation", "--take-ownership"];
  return ["--dry-run=server", ...unasked];
}

function argumentsFor(source: HelmSource, request: RenderRequest, chart: string, values: readonly string[]): string[] {
  return [
    "template",
    source.releaseName,
    chart,
    `--namespace=${request.namespace}`,
    "--include-crds",
    `--kube-version=${request.kubeVersion}`,
    ...request.apiVersions.map((version) => `--api-versions=${version}`),
    ...values.map((file) => `--values=${file}`),
    ...(request.isUpgrade ? ["--is-upgrade"] : []),
  ];
}

function outcome(
  source: HelmSource,
  { previousObjects }: RenderRequest,
  { exitCode, stdout, stderr }: ProgramOutput,
  folder: WorkFolder,
): HelmRun["result"] {
  if (exitCode !== 0) {
    const told = helmError(stderr, { [`${folder.path}/`]: "" });
    const message = withoutSecrets(told, source, previousObjects);
    // The innermost template is the one that calls lookup; those before it include it.
    const lookup =
      /^[\s\S]*template: ?(\S+?:\d+:\d+)(?:(?!template: ?\S+?:\d+:\d+)[\s\S])*error calling lookup:\s*([\s\S]*)$/.exec(
        message,
      );
    const [, place, why] = lookup ?? [];
    return {
      kind: "failed",
      message,
      ...(place !== undefined && why !== undefined && { lookup: { place, why: why.trim() } }),
    };
  }
  const skipped = skippedHook(stderr);
  if (skipped !== undefined) throw unknownHook("an object of the chart", skipped);
  return { kind: "ok", stdout, stderr };
}

/** Helm's rule for release names, and Kubernetes' for namespaces; also keeps them from being read as options. */
export function checkNames({ releaseName }: HelmSource, { namespace, kubeVersion }: RenderRequest): void {
  if (!/^[a-z0-9](?:[-a-z0-9]{0,51}[a-z0-9])?$/.test(releaseName)) {
    throw new RefusalError(
      "RenderFailed",
      `the release name ${JSON.stringify(releaseName.slice(0, 80))} is not valid`,
      "use at most 53 lower-case letters, digits and '-', beginning and ending with a letter or digit",
    );
  }
  if (!/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw new RefusalError(
      "RenderFailed",
      `the namespace ${JSON.stringify(namespace.slice(0, 80))} is not valid`,
      "correct targetNamespace",
    );
  }
  if (!/^v?\d+\.\d+(?:\.\d+)?[\w.+-]*$/.test(kubeVersion)) {
    throw new RefusalError(
      "RenderFailed",
      `the Kubernetes version ${JSON.stringify(kubeVersion.slice(0, 80))} is not valid`,
      "check what the member clusters report",
    );
  }
}
