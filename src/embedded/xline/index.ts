/**
 * The example of an operator on Lockstep's contract: a simulated quorum database, XlineCluster, with its operator in every
 * member of an embedded fleet.
 */
import { resource } from "../../kube/index.ts";
import type { Clock, Log, Random } from "../../runtime/index.ts";
import type { EmbeddedFleet } from "../fleet.ts";
import { XlineApplication } from "./application.ts";
import { xlineCustomization, xlineDefinition } from "./kinds.ts";
import { XlineOperator } from "./operator.ts";

export type { XlineApplication } from "./application.ts";
export { xlineCustomization, xlineDefinition } from "./kinds.ts";

const DEFINITIONS = resource({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});
const CUSTOMIZATIONS = resource({
  apiVersion: "config.karmada.io/v1alpha1",
  kind: "ResourceInterpreterCustomization",
  plural: "resourceinterpretercustomizations",
  namespaced: false,
});
const WRITE = { fieldManager: "xline", force: true };

export interface XlineOptions {
  readonly fleet: EmbeddedFleet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Xline {
  /** The database of an object, `namespace/name`. */
  application(key: string): XlineApplication;
  stop(): Promise<void>;
}

/** How long after a change an operator looks at it. */
const REACTION_MS = 5;

/** Installs the kind on the hub and in every member, and starts an operator in each. */
export async function startXline({ fleet, clock, random, log }: XlineOptions): Promise<Xline> {
  const applications = new Map<string, XlineApplication>();
  const operators: XlineOperator[] = [];
  const application = (key: string): XlineApplication => {
    let found = applications.get(key);
    if (!found) {
      found = new XlineApplication(clock);
      // Who leads is part of what every operator reports.
      found.onChange(() => {
        for (const operator of operators) operator.syncAll();
      });
      applications.set(key, found);
    }
    return found;
  };
  await fleet.client().apply(DEFINITIONS, xlineDefinition(), WRITE);
  await fleet.client().apply(CUSTOMIZATIONS, xlineCustomization(), WRITE);
  for (const name of fleet.memberNames) {
    await fleet.client(name).apply(DEFINITIONS, xlineDefinition(), WRITE);
    const { api, gate } = fleet.member(name);
    const operator = new XlineOperator({
      api,
      clock,
      random,
      log: log.with({ cluster: name }),
      isUp: () => gate.isOpen,
      reactionMs: REACTION_MS,
      application,
    });
    operators.push(operator);
    operator.start();
  }
  return {
    application,
    async stop() {
      await Promise.all(operators.map((operator) => operator.stop()));
    },
  };
}
