import type { Cache, KubeClient, KubeObject, Resource } from "../kube/index.ts";
import { isRefusedSwap, laterTermOf, refOf, termOf, workName } from "./dispatch-objects.ts";
import { DispatchConflictError, laterTerm } from "./errors.ts";
import { type OwnWorks, SWAP_ATTEMPTS } from "./own-works.ts";
import type { Claim, Dispatched, DispatchOrder, EngineOwner, ObjectRef } from "./port.ts";

export interface DispatchesOptions {
  readonly hub: KubeClient;
  readonly own: OwnWorks;
  /** The kind of the engine's dispatch objects. */
  readonly works: Resource;
  readonly cache: Cache<KubeObject>;
  /** The hub's namespace of a cluster's dispatch objects. */
  readonly namespaceOf: (cluster: string) => string;
  /** Undefined: another writer has changed it so that it is not ours any more. */
  readonly read: (work: KubeObject) => Dispatched | undefined;
  readonly versionOf: (work: KubeObject) => string;
}

/** What an order's dispatch object looks like, given the previous version of it. */
type Render = (previous: KubeObject | undefined) => KubeObject;

/** Lockstep's own dispatch objects in the port's terms, each written by compare-and-swap. The same for every engine. */
export class Dispatches {
  readonly #options: DispatchesOptions;
  /** Once per version of a dispatch object: they are read far more often than they change. */
  readonly #readByWork = new WeakMap<KubeObject, Dispatched>();

  constructor(options: DispatchesOptions) {
    this.#options = options;
  }

  of(owner: EngineOwner): readonly Dispatched[] {
    return this.#options.own.of(owner).flatMap((work) => this.#known(work) ?? []);
  }

  async readAll(owner: EngineOwner, clusters: readonly string[]): Promise<readonly Dispatched[]> {
    return this.#read(await this.#options.own.read(owner, clusters));
  }

  async stamp(owner: EngineOwner, term: number, clusters: readonly string[]): Promise<readonly Dispatched[]> {
    return this.#read(await this.#options.own.stamp(owner, term, clusters));
  }

  async reserve(owner: EngineOwner, refs: readonly ObjectRef[], claim: Claim): Promise<readonly Dispatched[]> {
    const reserved = await Promise.all(refs.map((ref) => this.#options.own.reserve(owner, ref, claim)));
    return this.#read(reserved.flatMap((work) => work ?? []));
  }

  /** `prepare` may refuse the order; it is called once, after the order's own term has been checked. */
  async write(owner: EngineOwner, order: DispatchOrder, prepare: () => Promise<Render>): Promise<KubeObject> {
    const { hub, own, works, cache, versionOf } = this.#options;
    const { expected, cluster, term } = order;
    const ref = refOf(order.manifest);
    const conflict = () => new DispatchConflictError(cluster, `the ${works.kind} of ${ref.kind} ${ref.name}`);
    const name = this.#nameOf(owner, cluster, ref);
    if (expected && expected.term > term) throw laterTerm({ kind: works.kind, ...name }, term, expected.term);
    const render = await prepare();
    let previous = expected ? cache.get(name) : undefined;
    for (let attempt = 0; attempt < SWAP_ATTEMPTS; attempt++) {
      if (previous && termOf(previous) > term) throw laterTermOf(previous, term, termOf(previous));
      if ((previous && versionOf(previous)) !== expected?.version) throw conflict();
      const work = render(previous);
      try {
        return await own.write(owner, work, () => (previous ? hub.update(works, work) : hub.create(works, work)));
      } catch (error) {
        if (!isRefusedSwap(error)) throw error;
        // Most often the engine has just written its status; then the object is still the expected version.
        previous = await hub.find(works, name);
        if (previous) cache.wrote(previous);
      }
    }
    throw conflict();
  }

  /** What was written, in the port's terms. */
  written(order: DispatchOrder, work: KubeObject): Dispatched {
    const read = this.#options.read(work);
    if (!read) throw new DispatchConflictError(order.cluster, `${work.kind} ${work.metadata.name}`);
    return read;
  }

  /** The dispatch object itself; undefined if it is gone. */
  async find(owner: EngineOwner, { cluster, ref, uid }: Dispatched): Promise<KubeObject | undefined> {
    const { hub, works, cache } = this.#options;
    const name = this.#nameOf(owner, cluster, ref);
    const known = cache.get(name);
    if (known?.metadata.uid === uid) return known;
    const found = await hub.find(works, name);
    return found?.metadata.uid === uid ? found : undefined;
  }

  #nameOf(owner: EngineOwner, cluster: string, ref: ObjectRef): { readonly namespace: string; readonly name: string } {
    return { namespace: this.#options.namespaceOf(cluster), name: workName(owner, ref) };
  }

  #known(work: KubeObject): Dispatched | undefined {
    const known = this.#readByWork.get(work);
    if (known) return known;
    const read = this.#options.read(work);
    if (read) this.#readByWork.set(work, read);
    return read;
  }

  #read(works: readonly KubeObject[]): Dispatched[] {
    return works.flatMap((work) => this.#options.read(work) ?? []);
  }
}
