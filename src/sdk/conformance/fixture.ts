import {
  ANNOTATIONS,
  type InstanceState,
  type MemberReport,
  parseMemberReport,
  type TopologyCluster,
} from "../../contract/index.ts";
import { type Clock, isJsonObject, type JsonObject, type Transport } from "../../runtime/index.ts";
import { apiPath, MemberClient, type MemberObject } from "../client.ts";

export interface ConformanceOptions {
  /** To the API server of a cluster in which the operator runs. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly kind: { readonly apiVersion: string; readonly kind: string; readonly plural: string };
  /** The object that is created; nothing else may have this name. */
  readonly namespace: string;
  readonly name: string;
  /** Its spec, without replicas. */
  readonly spec: JsonObject;
  /** An instance's address, with {instance} and {ordinal} filled in. */
  readonly addressTemplate: string;
  /** How long the operator may take for one grant. */
  readonly stepMs: number;
  /** How long the operator must leave things alone to count as doing nothing. */
  readonly quietMs: number;
}

/** One grant, as Lockstep would write it. */
export interface TestGrant {
  readonly instances: readonly InstanceState[];
  readonly revision: string;
  readonly processor: boolean;
  readonly partition?: number;
  /** Instances in another cluster. */
  readonly elsewhere?: number;
  readonly forming?: boolean;
  /** The leader should move to the first instance elsewhere. */
  readonly transfer?: boolean;
  /** Replaces the topology annotation. */
  readonly topologyText?: string;
}

export const CLUSTER = "conformance";
const ELSEWHERE = "elsewhere";
const LOOK_MS = 50;
const FIELD_MANAGER = "lockstep-conformance";

/** What a moment showed. */
export interface Sight {
  readonly report: MemberReport | undefined;
  /** By instance name: the pod's uid, and whether it is ready. */
  readonly pods: ReadonlyMap<
    string,
    { readonly uid: string; readonly isReady: boolean; readonly object: MemberObject }
  >;
}

/** Plays Lockstep and its engine for one object of one cluster. */
export class Fixture {
  readonly options: ConformanceOptions;
  readonly #api: MemberClient;
  #epoch = 0;
  #topologyVersion = 0;

  constructor(options: ConformanceOptions) {
    this.options = options;
    this.#api = new MemberClient(options.transport);
  }

  get epoch(): number {
    return this.#epoch;
  }

  instance(ordinal: number): string {
    return `${this.options.name}-${ordinal}`;
  }

  /** Writes the next grant with its spec in one write, and returns its epoch. */
  async grant(grant: TestGrant): Promise<number> {
    const { kind, namespace, name, spec } = this.options;
    this.#epoch++;
    this.#topologyVersion++;
    const topology = this.#topology(grant);
    const listed = topology.flatMap(({ instances, addresses }) =>
      instances.map((each, at) => `${each}=${addresses[at]}`),
    );
    const annotations = {
      [ANNOTATIONS.cluster]: CLUSTER,
      [ANNOTATIONS.epoch]: String(this.#epoch),
      [ANNOTATIONS.revision]: grant.revision,
      [ANNOTATIONS.processor]: String(grant.processor),
      [ANNOTATIONS.partition]: String(grant.partition ?? 0),
      [ANNOTATIONS.topology]: grant.topologyText ?? JSON.stringify(topology),
      [ANNOTATIONS.topologyVersion]: String(this.#topologyVersion),
      [ANNOTATIONS.initialCluster]: listed.join(","),
      [ANNOTATIONS.initialClusterState]: grant.forming ? "new" : "existing",
      [ANNOTATIONS.clusterToken]: `${namespace}-${name}`,
      [ANNOTATIONS.transferLeaderTo]: grant.transfer ? this.instance(grant.instances.length) : "",
    };
    const replicas = grant.instances.filter((state) => state !== "leaving").length;
    const object = {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name, namespace, annotations },
      spec: { ...spec, replicas },
    };
    if (this.#epoch === 1) await this.#api.create(`${this.#objects()}?fieldManager=${FIELD_MANAGER}`, object);
    else await this.#api.patch(`${this.#objects()}/${name}`, { metadata: { annotations }, spec: object.spec });
    return this.#epoch;
  }

  async look(): Promise<Sight> {
    const object = await this.#api.get(`${this.#objects()}/${this.options.name}`);
    const status = isJsonObject(object?.status) ? object.status : {};
    const names = new RegExp(`^${this.options.name}-\\d+$`);
    const pods = (await this.#api.list(this.#pods())).filter(({ metadata }) => names.test(metadata.name));
    return {
      report: parseMemberReport(status.crossCluster),
      pods: new Map(
        pods.map((pod) => [pod.metadata.name, { uid: pod.metadata.uid ?? "", isReady: isReady(pod), object: pod }]),
      ),
    };
  }

  /** Every look until the condition holds or the time is over. */
  async watch(
    durationMs: number,
    until: (sight: Sight) => boolean,
  ): Promise<{ readonly reached: boolean; readonly sights: Sight[] }> {
    const { clock } = this.options;
    const endMs = clock.monotonicMs() + durationMs;
    const sights: Sight[] = [];
    for (;;) {
      const sight = await this.look();
      sights.push(sight);
      if (until(sight)) return { reached: true, sights };
      if (clock.monotonicMs() >= endMs) return { reached: false, sights };
      await clock.sleep(LOOK_MS);
    }
  }

  async deletePod(instance: string): Promise<void> {
    const pod = (await this.look()).pods.get(instance);
    if (pod) await this.#api.delete(`${this.#pods()}/${instance}`, pod.object);
  }

  /** What the instance keeps its data on: the uid of each claim, by its name; empty: it is missing. */
  async claims(instance: string): Promise<ReadonlyMap<string, string>> {
    const pod = (await this.look()).pods.get(instance);
    const names = pod ? volumesOf(pod.object).map(({ claim }) => claim) : [];
    const found = await Promise.all(
      names.map(async (name) => {
        const at = `${apiPath("v1", "persistentvolumeclaims", this.options.namespace)}/${name}`;
        return [name, (await this.#api.get(at))?.metadata.uid ?? ""] as const;
      }),
    );
    return new Map(found);
  }

  /** The object and its pods; claims stay for their owner to look at. */
  async remove(): Promise<void> {
    const object = await this.#api.get(`${this.#objects()}/${this.options.name}`);
    if (object) await this.#api.delete(`${this.#objects()}/${this.options.name}`, object);
    for (const [name, { object: pod }] of (await this.look()).pods)
      await this.#api.delete(`${this.#pods()}/${name}`, pod);
  }

  #topology({ instances, transfer, elsewhere = transfer ? 1 : 0 }: TestGrant): TopologyCluster[] {
    const cluster = (name: string, first: number, states: readonly InstanceState[]): TopologyCluster => {
      const ordinals = states.map((_, at) => first + at);
      const addresses = ordinals.map((ordinal) =>
        this.options.addressTemplate
          .replaceAll("{instance}", this.instance(ordinal))
          .replaceAll("{ordinal}", String(ordinal)),
      );
      const replicas = states.filter((state) => state !== "leaving").length;
      return {
        cluster: name,
        replicas,
        ordinals,
        instances: ordinals.map((each) => this.instance(each)),
        addresses,
        states: [...states],
      };
    };
    const others = Array.from({ length: elsewhere }, () => (transfer ? ("member" as const) : ("joining" as const)));
    return [cluster(CLUSTER, 0, instances), ...(elsewhere > 0 ? [cluster(ELSEWHERE, instances.length, others)] : [])];
  }

  #objects(): string {
    const { kind, namespace } = this.options;
    return apiPath(kind.apiVersion, kind.plural, namespace);
  }

  #pods(): string {
    return apiPath("v1", "pods", this.options.namespace);
  }
}

/** The volumes of a pod that are claims. */
export function volumesOf({ spec }: MemberObject): { readonly volume: string; readonly claim: string }[] {
  const volumes = isJsonObject(spec) && Array.isArray(spec.volumes) ? spec.volumes.filter(isJsonObject) : [];
  return volumes.flatMap(({ name, persistentVolumeClaim: claim }) =>
    typeof name === "string" && isJsonObject(claim) && typeof claim.claimName === "string"
      ? [{ volume: name, claim: claim.claimName }]
      : [],
  );
}

/** The volumes that a container of the pod can write to. */
export function mountedIn({ spec }: MemberObject): ReadonlySet<string> {
  const list = (value: unknown) => (Array.isArray(value) ? value.filter(isJsonObject) : []);
  const containers = isJsonObject(spec) ? list(spec.containers) : [];
  const mounts = containers.flatMap((each) => [...list(each.volumeMounts), ...list(each.volumeDevices)]);
  return new Set(mounts.flatMap(({ name }) => (typeof name === "string" ? [name] : [])));
}

function isReady({ metadata, status }: MemberObject): boolean {
  if (metadata.deletionTimestamp !== undefined || !isJsonObject(status)) return false;
  const conditions = Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
  return conditions.some((each) => each.type === "Ready" && each.status === "True");
}
