import { setTimeout as sleep } from "node:timers/promises";
import { SEED_ANNOTATIONS } from "../../src/contract/index.ts";
import type { Api, KubeObject } from "../stack/api.ts";

/** Something the operator did to its instances, and for how long. */
interface Span {
  readonly what: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface XlineOperator {
  /** Its cluster's. */
  readonly name: string;
  readonly log: Span[];
  /** What its instances run. */
  readonly image: string | undefined;
  stop(): Promise<void>;
}

/** As long as starting an instance takes here. */
const WORK_MS = 300;

export interface XlineOperatorOptions {
  /** The one object that it attends to. */
  readonly object: string;
  readonly readsAnnotations: boolean;
}

/**
 * An operator as the proposal's users would have written it. With `readsAnnotations` it acts only while the
 * proposal's `processer` annotation says so; without, on every change of the spec. Its instances are simulated.
 */
export function startXlineOperator(name: string, api: Api, options: XlineOperatorOptions): XlineOperator {
  const stop = new AbortController();
  const log: Span[] = [];
  const state = { image: undefined as string | undefined, replicas: 0 };

  const reconcile = async (object: KubeObject) => {
    const spec = object.spec as { replicas: number; image: string };
    const annotations = (object.metadata.annotations ?? {}) as Record<string, string>;
    const mayAct = !options.readsAnnotations || annotations[SEED_ANNOTATIONS.processer] === "true";
    const wanted = spec.image !== state.image || spec.replicas !== state.replicas;
    if (wanted && mayAct) {
      const fromMs = performance.now();
      await report(object, 0);
      await sleep(WORK_MS, undefined, { signal: stop.signal });
      state.image = spec.image;
      state.replicas = spec.replicas;
      log.push({ what: `${spec.image} x${spec.replicas}`, fromMs, toMs: performance.now() });
    }
    if (!wanted || mayAct) await report(object, state.replicas);
  };
  const report = async ({ metadata }: KubeObject, ready: number) => {
    const status = { observedGeneration: metadata.generation, replicas: state.replicas, ready, readyReplicas: ready };
    const path = `/apis/apps.my.io/v1alpha1/namespaces/${metadata.namespace}/xlineclusters/${metadata.name}/status`;
    await api.request("PATCH", path, { status }, "application/merge-patch+json");
  };

  const run = async () => {
    while (!stop.signal.aborted) {
      try {
        const path = `/apis/apps.my.io/v1alpha1/xlineclusters?fieldSelector=metadata.name%3D${options.object}`;
        for await (const { type, object } of api.watch(path, stop.signal)) {
          if (type === "ADDED" || type === "MODIFIED") await reconcile(object);
        }
      } catch {
        await sleep(100, undefined, { signal: stop.signal }).catch(() => {});
      }
    }
  };
  const running = run();
  return {
    name,
    log,
    get image() {
      return state.image;
    },
    async stop() {
      stop.abort();
      await running;
    },
  };
}
