/** Runs a demo: follows the object on the hub and the pods in the clusters, and shows what changes. */
import { DEFAULT_SYSTEM_NAMESPACE } from "../../../api/index.ts";
import { ledgerName, ownerOf } from "../../../controllers/index.ts";
import {
  type ClusterConnection,
  KubeClient,
  type KubeObject,
  Reflector,
  type Resource,
  resource,
} from "../../../kube/index.ts";
import { isJsonObject, type JsonObject, silentLog } from "../../../runtime/index.ts";
import { CommandError } from "../../errors.ts";
import { type Hub, LEDGERS, readLedger, STATEFULSETS } from "../../hub/hub.ts";
import { statusOf } from "../../hub/status.ts";
import type { Io } from "../../terminal/io.ts";
import { print, styleOf } from "../../terminal/output.ts";
import { Screen } from "../../terminal/screen.ts";
import { wrapped } from "../../terminal/wrap.ts";
import { fittingTree, type StatusView } from "../status/view.ts";
import type { Example } from "../up/example.ts";
import {
  beginning,
  type Cast,
  changesBetween,
  clustersOf,
  type Instance,
  keyOf,
  type Scene,
  WorstSeen,
} from "./scene.ts";

const PODS = resource({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true });
/** Replacing a pod takes longer than a second, so nothing is missed between two observations. */
const LOOK_MS = 100;
/** A demo's waits take seconds; after this time something is wrong, and the user should check. */
const GIVE_UP_MS = 180_000;
/** `up` answers within milliseconds: after this time it has ended. */
const SILENCE_MS = 5_000;
/** Lines of the screen below the tree, for the latest output. */
const STORY_LINES = 10;

export interface StageOptions {
  readonly io: Io;
  readonly hub: Hub;
  readonly kubeconfig: string;
  /** All clusters of the fleet: any may get an instance. */
  readonly clusters: readonly string[];
  readonly example: Example;
  /** Ends it: Ctrl-C. */
  readonly stop: AbortSignal;
}

export class Stage {
  readonly #options: StageOptions;
  readonly #done = new AbortController();
  readonly #connections: ClusterConnection[] = [];
  readonly #running: Promise<void>[] = [];
  readonly #objects: Reflector<KubeObject>;
  readonly #ledgers: Reflector<KubeObject>;
  readonly #pods = new Map<string, Reflector<KubeObject>>();
  readonly #lines: string[] = [];
  readonly #startedMs: number;
  #lastHeardMs: number;
  #scene: Scene | undefined;
  /** Undefined if the output is printed line by line. */
  readonly #screen: Screen | undefined;
  #isOpen = false;
  /** The cluster that the demo has disconnected. */
  cut: string | undefined;
  cast: Cast = new Set();
  worst = new WorstSeen(new Set());
  steps = 0;

  constructor(options: StageOptions) {
    this.#options = options;
    this.#screen = options.io.stdout.isTerminal ? new Screen(options.io.stdout) : undefined;
    const { client, clock } = options.hub;
    this.#startedMs = clock.monotonicMs();
    this.#lastHeardMs = this.#startedMs;
    const { namespace, name } = options.example.at;
    const own = { namespace, fieldSelector: `metadata.name=${name}` };
    const isExample = ({ metadata }: KubeObject) => metadata.name === name;
    this.#objects = this.#follow(client, STATEFULSETS, own, isExample);
    this.#ledgers = this.#follow(client, LEDGERS, { namespace: DEFAULT_SYSTEM_NAMESPACE });
  }

  /** Waits until everything was seen once: the instances that are ready then are the cast. */
  async open(): Promise<void> {
    const { io, hub, kubeconfig, clusters, example, stop } = this.#options;
    const connected = await Promise.all(
      clusters.map(async (cluster) => {
        const connection = await io.connect({ kubeconfig, context: cluster });
        this.#connections.push(connection);
        return { cluster, transport: connection.transport };
      }),
    );
    const { clock, random } = hub;
    const selection = { namespace: example.at.namespace, labelSelector: example.podSelector };
    for (const { cluster, transport } of connected) {
      const client = new KubeClient({ transport, clock, random, userAgent: "lockstep-demo" });
      this.#pods.set(cluster, this.#follow(client, PODS, selection));
    }
    const all = [this.#objects, this.#ledgers, ...this.#pods.values()];
    for (const reflector of all) this.#running.push(reflector.run(this.#done.signal));
    for (const { cache } of all) await cache.synced(stop);
    const scene = this.look();
    this.cast = new Set([...scene.instances].filter(([, { ready }]) => ready).map(([key]) => key));
    this.worst = new WorstSeen(this.cast);
    this.#isOpen = true;
    this.#screen?.open();
  }

  async close(): Promise<void> {
    this.#done.abort(new Error("the demo has ended"));
    await Promise.all(this.#running);
    await Promise.all(this.#connections.map((connection) => connection.close()));
    if (this.#isOpen) this.#screen?.close(this.#lines);
    this.#isOpen = false;
  }

  get elapsedMs(): number {
    return this.#options.hub.clock.monotonicMs() - this.#startedMs;
  }

  /** One line of output, with the time. Empty: a blank line. */
  say(text: string): void {
    const line = text === "" ? "" : `${(this.elapsedMs / 1000).toFixed(1).padStart(6)} s  ${text}`;
    this.#lines.push(line);
    if (!this.#screen) print(this.#options.io, `${line}\n`);
  }

  /** The answer to the demo's own write to the example: no later observation is older than that. */
  wrote(object: KubeObject): void {
    this.#objects.cache.wrote(object);
  }

  /** Observes repeatedly, printing what changes, until the condition holds. */
  async until(what: string, isSo: (scene: Scene) => boolean): Promise<void> {
    const { hub, io, example, stop } = this.#options;
    const endMs = hub.clock.monotonicMs() + GIVE_UP_MS;
    while (!isSo(this.look())) {
      this.#checkAlive();
      if (hub.clock.monotonicMs() > endMs) {
        throw new CommandError(
          `after ${GIVE_UP_MS / 1000} s still not: ${what}. Run '${io.program} why ${example.at.name}' to see what it waits for`,
        );
      }
      await hub.clock.sleep(LOOK_MS, stop);
    }
  }

  look(): Scene {
    const { at } = this.#options.example;
    const object = this.#objects.cache.get(at);
    if (!object) throw new CommandError(`CrossClusterStatefulset ${at.namespace}/${at.name} was deleted`);
    const status = statusOf(object);
    const kept = { namespace: DEFAULT_SYSTEM_NAMESPACE, name: ledgerName(ownerOf(object)) };
    const ledger = readLedger(this.#ledgers.cache.get(kept));
    const clusters = clustersOf(ledger, status);
    const isCurrent = status.observedGeneration === object.metadata.generation;
    const scene: Scene = { status, isCurrent, clusters, instances: this.#instances(), cut: this.cut };
    const before = this.#scene;
    this.#scene = scene;
    if (before && this.#isOpen) {
      this.worst.add(scene);
      this.steps += beginning(before, scene).length;
      for (const line of changesBetween(before, scene, this.cast)) this.say(line);
    }
    this.#draw({ object, status });
    return scene;
  }

  #instances(): Map<string, Instance> {
    const found = new Map<string, Instance>();
    for (const [cluster, { cache }] of this.#pods) {
      for (const pod of cache.list()) {
        const one = instanceOf(cluster, pod);
        found.set(keyOf(one), one);
      }
    }
    return found;
  }

  #draw(view: StatusView): void {
    const { io, hub } = this.#options;
    if (!this.#isOpen || !this.#screen) return;
    const { rows, columns } = io.stdout;
    const tree = fittingTree(view, styleOf(io), hub.clock.now(), { rows: Math.max(1, rows - STORY_LINES), columns });
    const room = Math.max(0, rows - tree.length - 2);
    const story = this.#lines.slice(-rows).flatMap((line) => wrapped(line, columns));
    const told = room === 0 ? [] : story.slice(-room);
    this.#screen.draw([...tree, "", ...told].slice(0, Math.max(1, rows - 1)));
  }

  #checkAlive(): void {
    const { hub, io } = this.#options;
    const nowMs = hub.clock.monotonicMs();
    if (this.#objects.health.failure === undefined) this.#lastHeardMs = nowMs;
    if (nowMs - this.#lastHeardMs < SILENCE_MS) return;
    throw new CommandError(`the hub ${hub.server} no longer answers. Is '${io.program} up' still running?`);
  }

  #follow(
    client: KubeClient,
    of: Resource,
    selection: { namespace: string; fieldSelector?: string; labelSelector?: string },
    selects?: (object: KubeObject) => boolean,
  ): Reflector<KubeObject> {
    const { clock, random } = this.#options.hub;
    return new Reflector({ client, resource: of, clock, random, log: silentLog, selection, selects });
  }
}

function instanceOf(cluster: string, pod: KubeObject): Instance {
  const { name, uid = "", deletionTimestamp } = pod.metadata;
  const conditions = listAt(pod.status, "conditions");
  const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
  const [container] = listAt(pod.spec, "containers");
  const image = typeof container?.image === "string" ? container.image : "an unknown image";
  return { cluster, name, uid, ready: isReady && deletionTimestamp === undefined, image };
}

function listAt(parent: unknown, field: string): JsonObject[] {
  const value = isJsonObject(parent) ? parent[field] : undefined;
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
