/** What the tests of this folder are about: one CrossClusterStatefulset, and the hub in memory behind the stores. */
import { type ParsedCrossClusterStatefulset, parseCrossClusterStatefulset } from "../../api/index.ts";
import { KubeClient, type KubeObject, Reflector, type Resource } from "../../kube/index.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { type JsonObject, seededRandom } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";

export function statefulset(spec: JsonObject = {}, metadata: JsonObject = {}): ParsedCrossClusterStatefulset {
  const parsed = parseCrossClusterStatefulset({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "web", namespace: "default", uid: "uid-web", generation: 3, ...metadata },
    spec: { resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" }, ...spec },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.value;
}

export class TestHub {
  readonly clock = new VirtualClock();
  readonly api = new FakeApi({ clock: this.clock });
  readonly client = this.anotherClient();
  readonly #stop = new AbortController();

  /** Another process's way to the same hub. */
  anotherClient(): KubeClient {
    return new KubeClient({ transport: this.api, clock: this.clock, random: seededRandom(1) });
  }

  /** A cache of all objects of one kind; it receives changes only while the clock runs. */
  async cacheOf(resource: Resource) {
    const options = { client: this.anotherClient(), resource, clock: this.clock, random: seededRandom(2) };
    const reflector = new Reflector<KubeObject>(options);
    void reflector.run(this.#stop.signal);
    await this.clock.run(reflector.cache.synced());
    return reflector.cache;
  }

  ask<Value>(request: Promise<Value>): Promise<Value> {
    return this.clock.run(request);
  }

  writes(): string[] {
    return this.api.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.clock.settle();
  }
}
