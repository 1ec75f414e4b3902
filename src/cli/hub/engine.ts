/** Which engine the hub has: `--engine`, or the only one whose kinds it serves. */
import {
  ENGINES,
  type Engine,
  type EngineDefinition,
  findEngines,
  isEngineName,
  KarmadaEngine,
  OcmEngine,
  openMemberOverHttp,
} from "../../engine/index.ts";
import type { KubeClient, RequestOptions } from "../../kube/index.ts";
import type { Clock, Log, Random } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";

/** Throws CommandError for another name. */
export function namedEngine(name: string): EngineDefinition {
  if (isEngineName(name)) return ENGINES[name];
  throw new CommandError(`--engine '${name}' is not known; use ${Object.keys(ENGINES).join(" or ")}`);
}

export async function engineOf(
  { client, request = {} }: { readonly client: KubeClient; readonly request?: RequestOptions },
  named?: string,
): Promise<EngineDefinition> {
  if (named !== undefined) return namedEngine(named);
  const [found, another] = await findEngines(client, request);
  if (found === undefined) {
    throw new CommandError(
      "this server serves neither Karmada's kinds nor those of Open Cluster Management: it is no hub. Use --context of the hub, or --engine if its engine is not installed yet",
    );
  }
  if (another !== undefined) {
    throw new CommandError(
      `this hub has more than one engine (${ENGINES[found].title}, ${ENGINES[another].title}): choose with --engine ${found} or --engine ${another}`,
    );
  }
  return ENGINES[found];
}

export interface EngineParts {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  /** Lockstep's own namespace on the hub; absent: the usual one. */
  readonly systemNamespace?: string;
  /** For a controller: how often it looks for other controllers' objects that would work against a rollout. */
  readonly looksEveryMs?: number;
}

export function openEngine({ name }: EngineDefinition, parts: EngineParts): Engine {
  const all = { ...parts, openMember: openMemberOverHttp };
  return name === "ocm" ? new OcmEngine(all) : new KarmadaEngine(all);
}
