import type { KubeClient, KubeObject, ObjectName, Resource } from "../../../kube/index.ts";
import type { EngineApp } from "../../port.ts";

/** What the suite has to know of an engine's hub, to use it as people and other programs do. */
export interface ContractHub {
  /** The dispatch objects, and the namespace that holds a cluster's. */
  readonly works: Resource;
  readonly namespaceOf: (cluster: string) => string;
  /** Whether the engine renders templates of the hub by itself, so that they have to be held. */
  readonly rendersTemplates: boolean;
  /** Lets the engine schedule the application, of which there are so many instances. */
  readonly schedule: (hub: KubeClient, app: EngineApp, replicas: number) => Promise<void>;
  /** What the schedule then says for five. */
  readonly fiveInstances: Readonly<Record<string, number>>;
  /** Runs the application in all clusters, 2 + 2 + 1, without Lockstep. */
  readonly runWithoutLockstep: (hub: KubeClient, app: EngineApp) => Promise<void>;
  /** A dispatch object of another writer, which leaves what it delivered as it is when it is deleted. */
  readonly foreignWork: (
    name: ObjectName & { readonly namespace: string },
    objects: readonly KubeObject[],
  ) => KubeObject;
  /** Deletes a dispatch object of ours, as an administrator can. */
  readonly deleteWork: (hub: KubeClient, work: KubeObject) => Promise<void>;
}
