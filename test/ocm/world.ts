/** Stories on a real Open Cluster Management: the template is inline, and spec.topology says where it runs. */
import { memberRightsWork } from "../../src/cli/commands/install/ocm.ts";
import { OcmEngine, openMemberOverHttp } from "../../src/engine/index.ts";
import { OCM_HUB, statefulSet } from "../../src/engine/testing/contract/index.ts";
import { isKubeObject, type KubeObject } from "../../src/kube/index.ts";
import { systemClock, systemRandom } from "../../src/runtime/index.ts";
import type { StackOptions } from "../stack/ground.ts";
import {
  CCS,
  MANAGER,
  type Stage,
  startWorldOn,
  TICKETS,
  type World,
  type WorldOptions,
  XLINE_WORKLOAD,
} from "../stories/world.ts";
import { giveAccess, startOcmFleet } from "./fleet.ts";

const UNEVEN: Record<string, number> = { member1: 2, member2: 2, member3: 1 };

/** `hasAccess`: Lockstep may read the members; otherwise only their agents' reports are known. */
function stageOf(hasAccess: boolean, options: StackOptions = {}): Stage {
  return {
    engine: "ocm",
    works: OCM_HUB.works,
    namespaceOf: OCM_HUB.namespaceOf,
    start: () => startOcmFleet(options),
    open: (hub, log) =>
      new OcmEngine({ hub, clock: systemClock, random: systemRandom, log, openMember: openMemberOverHttp }),
    async prepare({ stack }) {
      if (!hasAccess) return;
      for (const [name, member] of stack.members) await giveAccess(stack, name, member);
    },
    async declare({ hub }, name, workload, spec = {}) {
      await hub.apply(CCS, inlineCrossCluster(name, workload, spec), MANAGER);
    },
    async runWithoutLockstep({ hub }, { metadata: { name }, spec }) {
      for (const [namespace, replicas] of Object.entries(UNEVEN)) {
        const own = { ...statefulSet(name, replicas, `${name}:1`) };
        const object = { ...own, spec: { ...(spec as object), replicas } };
        const work = OCM_HUB.foreignWork({ namespace, name }, [object]);
        // The common case: deleting it deletes what it delivered.
        const deleteOption = { propagationPolicy: "Foreground" };
        await hub.create(OCM_HUB.works, { ...work, spec: { ...(work.spec as object), deleteOption } });
      }
    },
    async prepareKind({ stack, hub, until }) {
      for (const name of stack.members.keys()) {
        const work = memberRightsWork(name, [XLINE_WORKLOAD], [TICKETS]);
        if (isKubeObject(work)) await stack.hub.apply(work);
        await until(`${name}'s agent may apply the kind`, async () => {
          const found = await hub.find(OCM_HUB.works, { namespace: name, name: "lockstep-member-rights" });
          return JSON.stringify(found?.status ?? {}).includes("AppliedManifestWorkComplete");
        });
      }
    },
  };
}

/** The application in one object. */
export function inlineCrossCluster(name: string, workload: KubeObject, spec: object = {}): KubeObject {
  const { apiVersion, kind, metadata, spec: asked } = workload;
  const { labels } = metadata;
  const template = { apiVersion, kind, metadata: { name, ...(labels && { labels }) }, spec: asked ?? {} };
  const clusters = Object.entries(UNEVEN).map(([cluster, replicas]) => ({
    name: cluster,
    replicas: kind === "StatefulSet" ? replicas : 1,
  }));
  return {
    apiVersion: CCS.apiVersion,
    kind: CCS.kind,
    metadata: { name, namespace: "default" },
    spec: { template, topology: { clusters }, updateStrategy: { type: "RollingUpdate" }, ...spec },
  };
}

export const startWorld = (more: WorldOptions = {}): Promise<World> => startWorldOn(stageOf(true), more);
/** The connection to each member can be cut. */
export const startRelayedWorld = (): Promise<World> => startWorldOn(stageOf(true, { relays: true }));
export const startReportedWorld = (options: StackOptions = {}): Promise<World> => startWorldOn(stageOf(false, options));
