import { type Database, type SimulatedApplication, startXline } from "../../embedded/index.ts";
import { PodRecorder } from "../../embedded/testing/world.ts";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom, silentLog } from "../../runtime/index.ts";
import { CliWorld } from "./harness.ts";

export const LEADER_TRANSFER = { leaderTransfer: { timeoutSeconds: 60 } };

export function xlineObjects(image: string, rollingUpdate: JsonObject): [KubeObject, KubeObject] {
  const clusters = [
    { name: "member1", replicas: 2 },
    { name: "member2", replicas: 2 },
    { name: "member3", replicas: 1 },
  ];
  return [
    {
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name: "xline", namespace: "default" },
      spec: {
        resourceSelector: { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", name: "xline" },
        completion: { protocol: "Contract" },
        topology: { clusters },
        updateStrategy: { type: "RollingUpdate", rollingUpdate },
      },
    },
    {
      apiVersion: "apps.my.io/v1alpha1",
      kind: "XlineCluster",
      metadata: { name: "xline", namespace: "default" },
      spec: { replicas: 5, image },
    },
  ];
}

export class XlineWorld extends CliWorld {
  readonly pods = new PodRecorder(this.world.fleet);
  #xline: Database<SimulatedApplication> | undefined;

  async deployXline(rollingUpdate: JsonObject): Promise<void> {
    const { world } = this;
    await world.start();
    const parts = { fleet: world.fleet, clock: world.clock, random: seededRandom(22), log: silentLog };
    this.#xline = await world.ask(startXline(parts));
    const [statefulset, template] = xlineObjects("xline:1", rollingUpdate);
    await world.apply(statefulset);
    await world.until("the hold is in place", () => world.status("xline").reason === "TemplateMissing");
    await world.apply(template);
    await world.until("deployed", () => world.isSettled("xline", 5) && this.leader !== "");
  }

  get application(): SimulatedApplication {
    if (!this.#xline) throw new Error("xline has not been deployed");
    return this.#xline.application("default/xline");
  }

  get leader(): string {
    const { leader } = this.world.status("xline");
    return isJsonObject(leader) && typeof leader.cluster === "string" ? leader.cluster : "";
  }

  get transfer(): JsonObject {
    const { leaderTransfer } = this.world.status("xline");
    return isJsonObject(leaderTransfer) ? leaderTransfer : {};
  }

  row(cluster: string): JsonObject {
    const { clusters } = this.world.status("xline");
    const rows = Array.isArray(clusters) ? clusters.filter(isJsonObject) : [];
    return rows.find(({ name }) => name === cluster) ?? {};
  }

  holds(cluster: string): boolean {
    return Object.keys(this.pods.images()).some((place) => place.startsWith(`${cluster}/`));
  }

  async stop(): Promise<void> {
    if (this.#xline) await this.world.ask(this.#xline.stop());
    await this.world.stop();
  }
}
