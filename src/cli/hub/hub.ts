import {
  CROSS_CLUSTER_LEDGER,
  CROSS_CLUSTER_STATEFULSET,
  type KindDefinition,
  ROLLOUT_APPROVAL,
} from "../../api/index.ts";
import { readLedgerCopy } from "../../controllers/index.ts";
import {
  type ClusterConnection,
  KubeClient,
  type KubeObject,
  NotFoundError,
  type RequestOptions,
  type Resource,
  resource,
} from "../../kube/index.ts";
import { type Ledger, LedgerUnreadable, parseLedger } from "../../plan/index.ts";
import { type Clock, isJsonObject, type Random, silentLog, type Transport } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";
import { durationOption } from "../terminal/duration-option.ts";
import type { Io } from "../terminal/io.ts";
import { parseKindName } from "../terminal/kind-name.ts";
import { nearest } from "../terminal/nearest.ts";
import { UP_KUBECONFIG, upKubeconfig } from "./up-kubeconfig.ts";

export const STATEFULSETS = ofKind(CROSS_CLUSTER_STATEFULSET);
export const LEDGERS = ofKind(CROSS_CLUSTER_LEDGER);
export const APPROVALS = ofKind(ROLLOUT_APPROVAL);

/** The hub as one command uses it. */
export interface Hub {
  readonly client: KubeClient;
  /** For requests that are not objects, such as access reviews. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly server: string;
  readonly tls?: ClusterConnection["tls"];
  readonly context: string;
  /** -n, or the context's namespace. */
  readonly namespace: string;
  /** For every request: --request-timeout, and few retries, because a user waits. */
  readonly request: RequestOptions;
}

/** A user waits: a server that is down is reported within seconds. */
const ATTEMPTS = 3;
const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
const SLOW_MS = 1_000;

/** Connects, runs `use`, and closes the connection in any case. */
export async function withHub<T>(io: Io, options: GlobalOptions, use: (hub: Hub) => Promise<T>): Promise<T> {
  const request = { timeoutMs: timeoutOf(options.requestTimeout), maxAttempts: ATTEMPTS };
  const [clock, random] = await Promise.all([io.clock(), io.random()]);
  const connection = await io.connect({ kubeconfig: kubeconfigOf(io, options), context: options.context });
  try {
    const { server, tls, context: name } = connection;
    const transport = io.stderr.isTerminal ? impatient(connection.transport, io, clock, server) : connection.transport;
    const client = new KubeClient({ transport, clock, random, log: silentLog, userAgent: "lockstep" });
    const namespace = options.namespace ?? connection.namespace;
    return await use({ client, transport, clock, random, server, tls, context: name, namespace, request });
  } finally {
    await connection.close();
  }
}

/** As kubectl finds it, except for the fleet of `up` in this folder, which no other setting names. */
export function kubeconfigOf(io: Io, { kubeconfig }: GlobalOptions): string | undefined {
  if (kubeconfig !== undefined || io.env.KUBECONFIG) return kubeconfig;
  const found = upKubeconfig(io);
  if (found.kind === "absent") return undefined;
  if (found.kind === "foreign") {
    io.stderr.write(`${UP_KUBECONFIG} is not used: ${found.why}. To use it, pass --kubeconfig ${UP_KUBECONFIG}\n`);
    return undefined;
  }
  io.stderr.write(`using ${UP_KUBECONFIG} of '${io.program} up' in this folder\n`);
  return UP_KUBECONFIG;
}

/** Prints what is being done if it takes longer than a second on a terminal. */
export async function patiently<T>(io: Io, clock: Clock, what: string, work: Promise<T>): Promise<T> {
  if (!io.stderr.isTerminal) return work;
  const done = new AbortController();
  clock.sleep(SLOW_MS, done.signal).then(
    () => io.stderr.write(`${what} ...\n`),
    () => {},
  );
  try {
    return await work;
  } finally {
    done.abort();
  }
}

/** Prints once that an answer takes longer than a second, so that the user knows what happens. */
function impatient(transport: Transport, io: Io, clock: Clock, server: string): Transport {
  let said = false;
  const say = () => {
    if (!said) io.stderr.write(`waiting for ${server} ...\n`);
    said = true;
  };
  return {
    async request(request) {
      const answered = new AbortController();
      clock.sleep(SLOW_MS, answered.signal).then(say, () => {});
      try {
        return await transport.request(request);
      } finally {
        answered.abort();
      }
    },
    stream: (request) => transport.stream(request),
  };
}

function timeoutOf(text: string | undefined): number {
  if (text === undefined || text === "0") return DEFAULT_REQUEST_TIMEOUT_MS;
  return durationOption("--request-timeout", text);
}

/** Accepts `name`, `ccs/name` and `crossclusterstatefulset.apps.karmada.io/name`, as kubectl users write them. */
export function bareName(name: string): string {
  const named = parseKindName(name);
  if (named.kind === "ccs") return named.name;
  throw new CommandError(`'${name}': this command is for a CrossClusterStatefulset; give its name`);
}

/** Those of one namespace, or of all. A hub without the kind is distinguished from one without objects. */
export async function listStatefulsets({ client, request }: Hub, namespace: string | undefined): Promise<KubeObject[]> {
  try {
    return (await client.listAll(STATEFULSETS, { namespace, ...request })).items;
  } catch (error) {
    if (error instanceof NotFoundError)
      await client.discovery.resource(STATEFULSETS.apiVersion, STATEFULSETS.kind, request);
    throw error;
  }
}

/** The object, or an error that suggests another one. */
export async function getStatefulset(hub: Hub, given: string): Promise<KubeObject> {
  const name = bareName(given);
  const { client, namespace, request } = hub;
  const found = await client.find(STATEFULSETS, { namespace, name }, request);
  if (found) return found;
  // Distinguishes a missing object from a missing kind.
  await client.discovery.resource(STATEFULSETS.apiVersion, STATEFULSETS.kind, request);
  const what = `CrossClusterStatefulset ${namespace}/${name} does not exist`;
  const items = await listStatefulsets(hub, namespace);
  const like = nearest(
    name,
    items.map(({ metadata }) => metadata.name),
  );
  if (like !== undefined) throw new CommandError(`${what}; did you mean '${like}'?`);
  const elsewhere = await inOtherNamespace(hub, name);
  if (elsewhere !== undefined) throw new CommandError(`${what}; there is one in another namespace: -n ${elsewhere}`);
  const names = items.map(({ metadata }) => metadata.name).join(", ");
  throw new CommandError(`${what}; ${names ? `there are: ${names}` : `there is none in namespace ${namespace}`}`);
}

/** The planner's memory of the object, from its status. Undefined: there is none, or it cannot be read. */
export function ledgerOf({ status }: KubeObject): Ledger | undefined {
  const copy = isJsonObject(status) ? status.ledger : undefined;
  return typeof copy === "string" ? readLedgerCopy(copy) : undefined;
}

export function readLedger(object: KubeObject | undefined): Ledger | undefined {
  if (!object || !isJsonObject(object.spec)) return undefined;
  try {
    return parseLedger(object.spec.state);
  } catch (error) {
    if (error instanceof LedgerUnreadable) return undefined;
    throw error;
  }
}

/** Best effort: a user who may not list all namespaces gets no hint. */
async function inOtherNamespace({ client, request }: Hub, name: string): Promise<string | undefined> {
  try {
    const { items } = await client.listAll(STATEFULSETS, request);
    return items.find(({ metadata }) => metadata.name === name)?.metadata.namespace;
  } catch {
    return undefined;
  }
}

function ofKind({ group, version, kind, plural, scope }: KindDefinition): Resource {
  return resource({ apiVersion: `${group}/${version}`, kind, plural, namespaced: scope === "Namespaced" });
}
