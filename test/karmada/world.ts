/** Stories on a real Karmada: the template is an object on the hub, and a policy says where it runs. */
import { KarmadaEngine, openMemberOverHttp } from "../../src/engine/index.ts";
import { propagation, STATEFULSETS, WORKS } from "../../src/engine/testing/contract/index.ts";
import { resource } from "../../src/kube/index.ts";
import { systemClock, systemRandom } from "../../src/runtime/index.ts";
import { giveAccess } from "../ocm/fleet.ts";
import type { RealFleet } from "../stack/fleet.ts";
import {
  CCS,
  crossCluster,
  MANAGER,
  type Stage,
  startWorldOn,
  type World,
  type WorldOptions,
} from "../stories/world.ts";
import { startKarmadaFleet } from "./fleet.ts";
import { type KarmadaOptions, type KarmadaStack, QUICK_LOSS } from "./stack/stack.ts";

export const POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "PropagationPolicy",
  plural: "propagationpolicies",
  namespaced: true,
});

/** One instance of XlineCluster in each cluster. */
const xlinePolicy = (name: string) => ({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "PropagationPolicy",
  metadata: { name, namespace: "default" },
  spec: {
    resourceSelectors: [{ apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", name }],
    placement: {
      clusterAffinity: { clusterNames: ["member1", "member2", "member3"] },
      replicaScheduling: {
        replicaSchedulingType: "Divided",
        replicaDivisionPreference: "Weighted",
        weightPreference: {
          staticWeightList: ["member1", "member2", "member3"].map((name) => ({
            targetCluster: { clusterNames: [name] },
            weight: 1,
          })),
        },
      },
    },
  },
});

/** A story waits for what a controller sees within minutes. */
const LOOKS_EVERY_MS = 2_000;

const KARMADA: Stage = {
  engine: "karmada",
  works: WORKS,
  namespaceOf: (cluster) => `karmada-es-${cluster}`,
  start: () => startKarmadaFleet(),
  open: (hub, log) =>
    new KarmadaEngine({
      hub,
      clock: systemClock,
      random: systemRandom,
      log,
      openMember: openMemberOverHttp,
      looksEveryMs: LOOKS_EVERY_MS,
    }),
  async prepare({ stack, until }) {
    // Karmada carries the role to the members; before, the controller may not look into them.
    const binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/lockstep-member";
    for (const [name, api] of stack.members) {
      await until(`${name} has the controller's role`, async () => (await api.get(binding)) !== undefined);
    }
  },
  async declare(world, name, workload, spec = {}) {
    const { apiVersion, kind } = workload;
    const resourceSelector = { apiVersion, kind, name, namespace: "default" };
    await world.hub.apply(CCS, crossCluster(name, { resourceSelector, ...spec }), MANAGER);
    const path = await world.hub.discovery.resource(apiVersion, kind);
    if ((await world.hub.find(path, workload.metadata)) === undefined) {
      await world.until("the hold is in place", async () => (await world.status(name)).reason === "TemplateMissing");
      await world.hub.apply(POLICIES, kind === STATEFULSETS.kind ? propagation(name) : xlinePolicy(name), MANAGER);
    }
    await world.hub.apply(path, workload, MANAGER);
  },
  async runWithoutLockstep({ hub }, workload) {
    await hub.apply(POLICIES, propagation(workload.metadata.name), MANAGER);
    await hub.apply(STATEFULSETS, workload, MANAGER);
  },
  async prepareKind(world) {
    await world.until("every cluster serves XlineCluster", async () => {
      const clusters = await world.stack.hub.get<{
        items: { status?: { apiEnablements?: { groupVersion: string }[] } }[];
      }>("/apis/cluster.karmada.io/v1alpha1/clusters");
      return (clusters?.items ?? []).every(({ status }) =>
        status?.apiEnablements?.some(({ groupVersion }) => groupVersion === "apps.my.io/v1alpha1"),
      );
    });
  },
};

/** Karmada's proxy passes no dry runs on: a Secret gives direct access for them. */
async function prepareWithAccess(fleet: RealFleet): Promise<void> {
  await KARMADA.prepare(fleet);
  for (const [name, member] of fleet.stack.members) {
    await giveAccess(fleet.stack, KARMADA.namespaceOf(name), member);
  }
}

export interface KarmadaWorld extends World {
  readonly stack: KarmadaStack;
}

export async function startWorld(
  options: KarmadaOptions = {},
  more: WorldOptions = {},
  prepare = KARMADA.prepare,
): Promise<KarmadaWorld> {
  let stack: KarmadaStack | undefined;
  const start = async () => {
    const fleet = await startKarmadaFleet(options);
    stack = fleet.stack;
    return fleet;
  };
  const world = await startWorldOn({ ...KARMADA, start, prepare }, more);
  if (!stack) throw new Error("the fleet did not start");
  return { ...world, stack };
}

/** One on which a lost cluster is noticed within seconds. */
export const startQuickWorld = (more: WorldOptions): Promise<KarmadaWorld> =>
  startWorld({ managerFlags: QUICK_LOSS }, more, prepareWithAccess);
/** The connection to each member can be cut. */
export const startRelayedWorld = (): Promise<KarmadaWorld> => startWorld({ relays: true });

export { CCS, crossCluster, MANAGER, STATEFULSETS, type World };
