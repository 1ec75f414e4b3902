/** The list and the fleet as one viewer sees them, live. */
import { ENGINES } from "../../engine/index.ts";
import {
  type ClusterConnection,
  type KubeClient,
  type KubeObject,
  Reflector,
  type Resource,
} from "../../kube/index.ts";
import type { Clock, Random } from "../../runtime/index.ts";
import type { AppType, LiveEvent } from "../../web/index.ts";
import { engineOf } from "../hub/engine.ts";
import { fleetCluster } from "./fleet-cluster.ts";
import { RESOURCES } from "./kinds.ts";
import { ROWS } from "./overview.ts";
import { Pulse, Remembered } from "./pulse.ts";
import { mayDrain } from "./rights.ts";
import { given } from "./words.ts";

/** The list is sent at most this often; a person reads no faster. */
const GAP_MS = 1_000;
/** Rights that an administrator grants show up after this time at the latest. */
const RIGHTS_FRESH_MS = 30_000;

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
  const engine = await engineOf({ client }).catch(() => ENGINES.karmada);
  const clusters = new Kept(options, pulse, engine.clusters, undefined, fleetCluster);
  const drains = new Remembered<{ may: boolean | undefined }>();
  const running = Promise.all([clusters.run(signal), ...lists.map(({ list }) => list.run(signal))]);
  try {
    while (await pulse.next(GAP_MS)) {
      // A part of the lists would look as if the rest had been deleted.
      if (lists.some(({ list: { health } }) => !health.hasSynced && health.failure === undefined)) continue;
      if (!clusters.health.hasSynced && clusters.health.failure === undefined) continue;
      const failure = lists
        .map(({ list: { health } }) => (health.isForbidden ? undefined : health.failure))
        .find(Boolean);
      if (failure !== undefined) {
        send({ event: "trouble", data: { message: `The hub cannot be read: ${failure}`, gone: false } });
        continue;
      }
      const freshness = String(Math.floor(clock.monotonicMs() / RIGHTS_FRESH_MS));
      const { may } = await drains.get(freshness, async () => ({
        may: await mayDrain({ transport: connection.transport, clock }, engine.clusters),
      }));
      if (signal.aborted) return;
      const where = namespace === undefined ? "all namespaces" : `namespace ${namespace}`;
      const forbidden = lists.filter(({ list }) => list.health.isForbidden);
      const problems = [
        ...(forbidden.length === lists.length
          ? [`You may not list applications in ${where}.`]
          : forbidden.map(({ type }) => `You may not list ${RESOURCES[type].plural} in ${where}.`)),
        ...(clusters.health.isForbidden ? ["You may not list the clusters of the fleet."] : []),
      ];
      send({
        event: "overview",
        data: {
          atMs: clock.now(),
          applications: lists.flatMap(({ list }) => list.values()),
          clusters: clusters.values(),
          ...given("mayDrain", may),
          problems,
        },
      });
    }
  } finally {
    await running;
  }
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
