/** DistributedApplications on the command line: `dapp/NAME`. */
import {
  DISTRIBUTED_APPLICATION,
  type ParsedDistributedApplication,
  parseDistributedApplication,
} from "../../api/index.ts";
import { type KubeObject, resource } from "../../kube/index.ts";
import { CommandError } from "../errors.ts";
import type { Hub } from "../hub/hub.ts";
import { nearest } from "../terminal/nearest.ts";

const { group, version, kind, plural, singular, shortNames = [] } = DISTRIBUTED_APPLICATION;

export const APPLICATIONS = resource({ apiVersion: `${group}/${version}`, kind, plural, namespaced: true });

const PREFIXES = [...shortNames, singular, plural, `${singular}.${group}`, `${plural}.${group}`];

/** The name in `dapp/NAME`; undefined: another kind is meant. */
export function applicationName(given: string | undefined): string | undefined {
  const slash = given?.indexOf("/") ?? -1;
  if (given === undefined || slash < 0) return undefined;
  return PREFIXES.includes(given.slice(0, slash).toLowerCase()) ? given.slice(slash + 1) : undefined;
}

export async function getApplication(hub: Hub, name: string): Promise<KubeObject> {
  const { client, namespace, request } = hub;
  const found = await client.find(APPLICATIONS, { namespace, name }, request);
  if (found) return found;
  await client.discovery.resource(APPLICATIONS.apiVersion, APPLICATIONS.kind, request);
  const names = (await client.listAll(APPLICATIONS, { namespace, ...request })).items.map(
    ({ metadata }) => metadata.name,
  );
  const like = nearest(name, names);
  const hint = like
    ? `did you mean '${like}'?`
    : names.length > 0
      ? `there are: ${names.join(", ")}`
      : `there is none in namespace ${namespace}`;
  throw new CommandError(`DistributedApplication ${namespace}/${name} does not exist; ${hint}`);
}

export function readApplication(object: unknown, where: string): ParsedDistributedApplication {
  const parsed = parseDistributedApplication(object);
  if (parsed.ok) return parsed.value;
  const errors = parsed.errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new CommandError(`${where} is not valid: ${errors}. Correct it first`);
}

export function describeApplication({
  metadata,
}: {
  readonly metadata: { readonly namespace?: string; readonly name: string };
}): string {
  return `DistributedApplication ${metadata.namespace}/${metadata.name}`;
}
