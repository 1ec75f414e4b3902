/** The list and the fleet as one viewer sees them, live. */
import {
  type ClusterConnection,
  type KubeClient,
  type KubeObject,
  Reflector,
  type Resource,
} from "../../kube/index.ts";
import type { Clock, Random } from "../../runtime/index.ts";
import type { AppType, LiveEvent } from "../../web/index.ts";
import { fleetCluster } from "./fleet-cluster.ts";
import { RESOURCES } from "./kinds.ts";
import { ROWS } from "./overview.ts";
import { Pulse } from "./pulse.ts";
import { Access, type Questions, question } from "./rights.ts";
import { EXPIRED, FoundEngine } from "./trouble.ts";
import { given } from "./words.ts";

/** The list is sent at most this often; a person reads no faster. */
const GAP_MS = 1_000;

interface Options {
  readonly connection: ClusterConnection;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
}

export async function watchOverview(
  options: Options,
  namespace: string | undefined,
  send: (event: LiveEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, connection, client } = options;
  const pulse = new Pulse(clock, signal);
  const lists = (Object.keys(RESOURCES) as AppType[]).map((type) => ({
    type,
    list: new Kept(options, pulse, RESOURCES[type], namespace, ROWS[type]),
  }));
  const trouble = (message: string) => send({ event: "trouble", data: { message, gone: false } });
  const { engine, problem } = await new FoundEngine(client, clock).find(signal, trouble);
  const clusters = engine && new Kept(options, pulse, engine.clusters, undefined, fleetCluster);
  const all = [...lists.map(({ list }) => list), ...(clusters ? [clusters] : [])];
  const access = new Access({ transport: connection.transport, clock }, questionsOf(namespace, engine?.clusters), () =>
    pulse.beat(),
  );
  const running = Promise.all([access.run(signal), ...all.map((list) => list.run(signal))]);
  try {
    while (await pulse.next(GAP_MS)) {
      if (access.isExpired) return send(EXPIRED);
      // A part of the lists would look as if the rest had been deleted.
      if (!access.hasAnswers || all.some(({ health }) => !health.hasSynced && health.failure === undefined)) continue;
      const isDenied = (list: Kept<unknown>, key: string) => list.health.isForbidden || access.may(key) === false;
      const denied = lists.filter(({ type, list }) => isDenied(list, type));
      const mayRead = lists.filter((one) => !denied.includes(one));
      const failure = mayRead.map(({ list: { health } }) => health.failure).find(Boolean);
      const silence = failure === undefined ? access.silence : `The hub cannot be read: ${failure}`;
      if (silence !== undefined) {
        trouble(silence);
        continue;
      }
      if (signal.aborted) return;
      const noClusters = !clusters || isDenied(clusters, "clusters");
      const where = namespace === undefined ? "all namespaces" : `namespace ${namespace}`;
      const problems = [
        ...(denied.length === lists.length
          ? [`You may not list applications in ${where}.`]
          : denied.map(({ type }) => `You may not list ${RESOURCES[type].plural} in ${where}.`)),
        ...clusterProblems(clusters, noClusters, problem),
      ];
      send({
        event: "overview",
        data: {
          atMs: clock.now(),
          applications: mayRead.flatMap(({ list }) => list.values()),
          clusters: noClusters ? [] : clusters.values(),
          ...given("mayDrain", access.may("drain")),
          problems,
        },
      });
    }
  } finally {
    await running;
  }
}

function questionsOf(namespace: string | undefined, clusters: Resource | undefined): Questions {
  const lists = Object.entries(RESOURCES).map(([type, kind]) => [type, question("list", kind, namespace)] as const);
  return {
    ...Object.fromEntries(lists),
    ...(clusters && { clusters: question("list", clusters), drain: question("patch", clusters) }),
  };
}

/** A fleet that cannot be read is not an empty fleet. */
function clusterProblems(
  clusters: Kept<unknown> | undefined,
  isDenied: boolean,
  engineProblem: string | undefined,
): string[] {
  if (!clusters) return [engineProblem ?? "The clusters of the fleet are not known."];
  if (isDenied) return ["You may not list the clusters of the fleet."];
  const { failure } = clusters.health;
  return failure === undefined ? [] : [`The clusters of the fleet cannot be read: ${failure}`];
}

/** Objects of which only what is shown is kept, so that a thousand of them cost little. */
class Kept<T> {
  readonly #reflector: Reflector<KubeObject>;
  readonly #shown = new WeakMap<KubeObject, T>();

  constructor(
    { client, clock, random }: Options,
    pulse: Pulse,
    kind: Resource,
    namespace: string | undefined,
    shownOf: (object: KubeObject) => T,
  ) {
    const wake = () => pulse.beat();
    const transform = (object: KubeObject): KubeObject => {
      const { apiVersion, kind: name, metadata } = object;
      const kept = { apiVersion, kind: name, metadata: identityOf(metadata) };
      this.#shown.set(kept, shownOf(object));
      return kept;
    };
    const selection = { namespace };
    this.#reflector = new Reflector({
      client,
      resource: kind,
      selection,
      clock,
      random,
      transform,
      healthChanged: wake,
    });
    this.#reflector.cache.subscribe({ added: wake, updated: wake, deleted: wake });
  }

  get health(): Reflector<KubeObject>["health"] {
    return this.#reflector.health;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  values(): T[] {
    return this.#reflector.cache.list().flatMap((kept) => this.#shown.get(kept) ?? []);
  }
}

function identityOf({ name, namespace, uid, resourceVersion }: KubeObject["metadata"]): KubeObject["metadata"] {
  return {
    name,
    ...given("namespace", namespace),
    ...given("uid", uid),
    ...given("resourceVersion", resourceVersion),
  };
}
