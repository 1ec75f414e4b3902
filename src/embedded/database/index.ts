/**
 * Databases that need a quorum, with an operator on Lockstep's contract in every member of an embedded fleet:
 * XlineCluster, which is simulated, and any other kind with an Application and a container (src/embedded/process has a
 * real etcd).
 */
import { resource } from "../../kube/index.ts";
import type { Clock, JsonObject, Log, Random } from "../../runtime/index.ts";
import type { EmbeddedFleet } from "../fleet.ts";
import type { Application } from "./application.ts";
import { customizationOf, type DatabaseKind, definitionOf, XLINE } from "./kinds.ts";
import { type Conduct, DatabaseOperator, type Start } from "./operator.ts";
import { SimulatedApplication } from "./simulated.ts";

export type { Application } from "./application.ts";
export { type DatabaseKind, ETCD } from "./kinds.ts";
export type { Conduct, Start } from "./operator.ts";
export { SimulatedApplication } from "./simulated.ts";

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
const WRITE = { fieldManager: "lockstep-example", force: true };

export interface DatabaseOptions<App extends Application> {
  readonly fleet: EmbeddedFleet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly kind: DatabaseKind;
  readonly application: () => App;
  readonly container: (start: Start) => JsonObject;
  /** How the operator of each cluster behaves; absent: as the contract requires. */
  readonly conduct?: (cluster: string) => Conduct;
}

export interface Database<App extends Application> {
  /** The database of an object, `namespace/name`. */
  application(key: string): App;
  /** The operators reconcile again: their conduct may have changed. */
  syncAll(): void;
  stop(): Promise<void>;
}

const GOOD_CONDUCT: Conduct = { stands: false, lies: false, hastes: false };

/** How long after a change an operator reconciles. */
const REACTION_MS = 5;

/** Installs the kind on the hub and in every member, and starts an operator in each. */
export async function startDatabase<App extends Application>(options: DatabaseOptions<App>): Promise<Database<App>> {
  const { fleet, clock, random, log, kind, container } = options;
  const applications = new Map<string, App>();
  const operators: DatabaseOperator[] = [];
  const application = (key: string): App => {
    const known = applications.get(key);
    if (known) return known;
    const made = options.application();
    applications.set(key, made);
    // Every operator reports the leader and the members.
    made.onChange(() => {
      for (const operator of operators) operator.syncAll();
    });
    return made;
  };
  await fleet.client().apply(DEFINITIONS, definitionOf(kind), WRITE);
  await fleet.client().apply(CUSTOMIZATIONS, customizationOf(kind), WRITE);
  for (const name of fleet.memberNames) {
    await fleet.client(name).apply(DEFINITIONS, definitionOf(kind), WRITE);
    const { api, entrance } = fleet.member(name);
    const isUp = () => entrance.isOpen;
    const own = { api, clock, random, log: log.with({ cluster: name }), isUp, reactionMs: REACTION_MS };
    const conduct = options.conduct && { conduct: () => options.conduct?.(name) ?? GOOD_CONDUCT };
    const operator = new DatabaseOperator({ ...own, ...conduct, kind, application, container });
    operators.push(operator);
    operator.start();
  }
  return {
    application,
    syncAll() {
      for (const operator of operators) operator.syncAll();
    },
    async stop() {
      await Promise.all(operators.map((operator) => operator.stop()));
      await Promise.all([...applications.values()].map((each) => each.stop()));
    },
  };
}

/** The proposal's XlineCluster: nothing runs, its pods only become ready and disappear. */
export function startXline(
  options: Pick<DatabaseOptions<Application>, "fleet" | "clock" | "random" | "log" | "conduct">,
): Promise<Database<SimulatedApplication>> {
  return startDatabase({
    ...options,
    kind: XLINE,
    application: () => new SimulatedApplication(options.clock),
    container: ({ spec: { image, args } }) => ({ name: "xline", image, args: [...args] }),
  });
}
