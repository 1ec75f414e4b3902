import type { Commit, KubeObject, ServerSnapshot } from "../../apiserver/index.ts";
import type { EmbeddedFleet } from "../../embedded/index.ts";
import type { HttpRequest, HttpResponse, HttpStream } from "../../runtime/index.ts";
import type { HubDoor } from "../world/ground.ts";

/** The objects that the hub's properties read, as `group/plural` and the path where they are served. */
const WATCHED: readonly (readonly [string, string])[] = [
  ["work.karmada.io/works", "/apis/work.karmada.io/v1alpha1/works"],
  ["apps.karmada.io/crossclusterledgers", "/apis/apps.karmada.io/v1alpha1/crossclusterledgers"],
  ["apps.karmada.io/crossclusterstatefulsets", "/apis/apps.karmada.io/v1alpha1/crossclusterstatefulsets"],
  ["cluster.karmada.io/clusters", "/apis/cluster.karmada.io/v1alpha1/clusters"],
  ["policy.karmada.io/overridepolicies", "/apis/policy.karmada.io/v1alpha1/overridepolicies"],
  ["coordination.k8s.io/leases", "/apis/coordination.k8s.io/v1/leases"],
];

/** The fleet's hub, with its commits read from separate watches: their reader sees every commit, in order. */
export class FleetHub implements HubDoor {
  readonly #fleet: EmbeddedFleet;
  readonly #listeners: ((commit: Commit) => void)[] = [];
  readonly #known = new Map<string, KubeObject>();

  constructor(fleet: EmbeddedFleet) {
    this.#fleet = fleet;
  }

  handle(request: HttpRequest): Promise<HttpResponse> {
    return this.#fleet.hub.handle(request);
  }

  stream(request: HttpRequest): Promise<HttpStream> {
    return this.#fleet.hub.stream(request);
  }

  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  snapshot(): ServerSnapshot {
    return this.#fleet.snapshot().hub;
  }

  async follow(): Promise<void> {
    for (const [resource, path] of WATCHED) {
      const { chunks } = await this.stream({ method: "GET", path: `${path}?watch=1`, headers: {} });
      void this.#read(resource, chunks);
    }
  }

  async #read(resource: string, chunks: AsyncIterable<string>): Promise<void> {
    for await (const chunk of chunks) {
      for (const line of chunk.split("\n")) {
        if (line === "") continue;
        const { type, object } = JSON.parse(line) as { type: string; object: KubeObject };
        if (type === "ADDED" || type === "MODIFIED" || type === "DELETED") this.#tell(resource, type, object);
      }
    }
  }

  #tell(resource: string, type: Commit["type"], object: KubeObject): void {
    const { namespace = "", name } = object.metadata;
    const id = `${resource} ${namespace}/${name}`;
    const old = this.#known.get(id);
    if (type === "DELETED") this.#known.delete(id);
    else this.#known.set(id, object);
    const resourceVersion = Number(object.metadata.resourceVersion ?? 0);
    const commit: Commit = { type, key: { resource, namespace, name }, object, old, resourceVersion };
    for (const listener of this.#listeners) listener(commit);
  }
}
