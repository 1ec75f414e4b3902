import type { KubeClient, KubeObject, ObjectName } from "../../../kube/index.ts";
import { type Clock, type Random, seededRandom } from "../../../runtime/index.ts";
import type { Dispatched, Engine, EngineApp, HoldState } from "../../port.ts";
import { Observer } from "../observer.ts";
import type { ContractHub } from "./hub.ts";
import { HOLDS } from "./karmada-hub.ts";
import { NAMESPACE, STATEFULSETS, statefulSet } from "./objects.ts";

export interface ContractFleet {
  readonly hub: KubeClient;
  /** member1, member2, member3: direct clients that bypass the engine. */
  readonly members: ReadonlyMap<string, KubeClient>;
  readonly clock: Clock;
  /** A fresh adapter on this hub, as another process would have it. */
  engine(): Engine;
  /** Makes a member unreachable, and reachable again. */
  cut(member: string): Promise<void>;
  mend(member: string): Promise<void>;
  /**
   * Waits until the condition is true. After a generous timeout it fails with `what`, or with the text that the
   * condition returns instead.
   */
  until(what: string, condition: () => boolean | string | Promise<boolean | string>, timeoutMs?: number): Promise<void>;
  stop(): Promise<void>;
}

const HOLD_LABEL = "lockstep.karmada.io/hold";

/** A fleet under the contract, with the adapters that its tests have started and the observer of everything. */
export class ContractBench {
  /** What the suite knows of the engine's hub. */
  readonly kind: ContractHub;
  readonly #random: Random = seededRandom(1);
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  #fleet: ContractFleet | undefined;
  #observer: Observer | undefined;

  constructor(kind: ContractHub) {
    this.kind = kind;
  }

  get fleet(): ContractFleet {
    if (!this.#fleet) throw new Error("the fleet has not been started");
    return this.#fleet;
  }

  get observer(): Observer {
    if (!this.#observer) throw new Error("the fleet has not been started");
    return this.#observer;
  }

  async start(start: () => Promise<ContractFleet>): Promise<void> {
    this.#fleet = await start();
    const [random, workload, { works }] = [this.#random, STATEFULSETS, this.kind];
    this.#observer = new Observer({ ...this.#fleet, random, workload, works });
    await this.#observer.start();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the suite is over"));
    await Promise.all(this.#running);
    await this.#observer?.stop();
    await this.#fleet?.stop();
  }

  readonly startEngine = async (): Promise<Engine> => {
    const engine = this.fleet.engine();
    this.#running.push(engine.run(this.#stop.signal));
    await this.fleet.until("the engine has read the hub", () => engine.synced());
    return engine;
  };

  /** The application is held, where it has to be, and scheduled. */
  readonly held = async (engine: Engine, app: EngineApp, replicas: number): Promise<void> => {
    engine.track(app, () => {});
    await engine.hold(app);
    await this.kind.schedule(this.fleet.hub, app, replicas);
    await this.fleet.until(`${app.name} is scheduled`, () => engine.schedule(app).kind === "known");
  };

  readonly client = (cluster: string): KubeClient => {
    const found = this.fleet.members.get(cluster);
    if (!found) throw new Error(`no member ${cluster}`);
    return found;
  };

  readonly memberObject = (cluster: string, app: EngineApp): Promise<KubeObject | undefined> =>
    this.client(cluster).find(STATEFULSETS, app.template);

  readonly holdOf = async (app: EngineApp): Promise<KubeObject> => {
    const { items } = await this.fleet.hub.listAll(HOLDS, { namespace: NAMESPACE, labelSelector: HOLD_LABEL });
    const hold = items.find(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"] === app.name);
    if (!hold) throw new Error(`there is no hold for ${app.name}`);
    return hold;
  };

  /** Waits until the adapter reports that the hold is defeated; returns its message. */
  readonly defeated = async (engine: Engine, app: EngineApp): Promise<{ message: string; remedy: string }> => {
    const states: HoldState[] = [];
    await this.fleet.until("the hold is defeated", async () => {
      states.push(await engine.hold(app));
      return states.at(-1)?.kind === "unsafe";
    });
    const state = states.at(-1);
    return state?.kind === "unsafe" ? state : { message: "", remedy: "" };
  };

  /** Karmada cannot end a Work that keeps its objects before it has delivered all of them. */
  readonly delivered = async (work: ObjectName): Promise<void> => {
    await this.fleet.until(`${this.kind.works.kind} ${work.name} is delivered`, async () => {
      return /"type":"Applied"[^}]*"status":"True"|"status":"True"[^}]*"type":"Applied"/.test(
        JSON.stringify((await this.fleet.hub.get(this.kind.works, work)).status ?? {}),
      );
    });
  };

  readonly withdrawn = async (
    engine: Engine,
    app: EngineApp,
    cluster: string,
    what: "keep" | "remove",
  ): Promise<void> => {
    await this.fleet.until(`${cluster} is withdrawn`, async () => {
      const found = (await engine.readDispatched(app)).find((one) => one.cluster === cluster);
      return found === undefined || (await engine.withdraw(app, found, what));
    });
  };
}

export function orderOf(app: EngineApp, cluster: string, image: string, term: number, expected: Dispatched | null) {
  return {
    cluster,
    manifest: statefulSet(app.name, 1, image),
    term,
    notes: { grant: `{"image":"${image}"}` },
    expected,
  };
}

export function imageOf(object: KubeObject | undefined): string | undefined {
  return /"image":"([^"]+)"/.exec(JSON.stringify(object?.spec ?? {}))?.[1];
}
