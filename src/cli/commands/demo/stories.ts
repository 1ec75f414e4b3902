/** The demos: each changes one thing on a running fleet, shows the effects, and reports at the end what was kept. */
import { ConflictError, type KubeObject, type Resource } from "../../../kube/index.ts";
import { majorityOf } from "../../../plan/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { CommandError, explain } from "../../errors.ts";
import { type Hub, STATEFULSETS } from "../../hub/hub.ts";
import { imageOf, withImage, withoutTag } from "../../hub/template-image.ts";
import { steer } from "../../hub/up-fleet.ts";
import { natural } from "../../terminal/natural.ts";
import type { Example } from "../up/example.ts";
import { type Cast, keyOf, plural, type Scene } from "./scene.ts";
import type { Stage } from "./stage.ts";

export interface Play {
  readonly example: Example;
  readonly hub: Hub;
  readonly stage: Stage;
  readonly repairs: Repairs;
  /** Their state when the demo started. */
  readonly object: KubeObject;
  readonly template: KubeObject;
  /** Of the instances at the start. */
  readonly maxUnavailable: number;
}

/** What must be restored if the demo does not complete, the last change first. */
export class Repairs {
  readonly #open: { readonly what: string; readonly repair: () => Promise<void> }[] = [];

  /**
   * Changes something, and records the repair before the change: an interruption in between restores too much rather
   * than too little. If another user was faster, nothing is recorded: the change is theirs.
   */
  async change(what: string, make: () => Promise<void>, repair: () => Promise<void>): Promise<void> {
    this.#open.push({ what, repair });
    try {
      await make();
    } catch (error) {
      if (error instanceof ConflictError) this.settle(what);
      throw error;
    }
  }

  /** The demo has done it itself, or leaves it so on purpose. */
  settle(what: string): void {
    const at = this.#open.findIndex((one) => one.what === what);
    if (at >= 0) this.#open.splice(at, 1);
  }

  /** Each separately: a failed repair does not prevent the others. Returns what was and was not restored. */
  async makeGood(): Promise<string[]> {
    const [done, failed]: [string[], string[]] = [[], []];
    let why = "";
    for (const { what, repair } of this.#open.splice(0).reverse()) {
      try {
        await repair();
        done.push(what);
      } catch (error) {
        failed.push(what);
        why = explain(error);
      }
    }
    return [
      ...(done.length > 0 ? [`Restored: ${done.join(", ")}.`] : []),
      ...(failed.length > 0 ? [`Could not be restored: ${failed.join(", ")} (${why}).`] : []),
    ];
  }
}

const WRITE = { fieldManager: "lockstep-demo" };
const GROW_BY = 2;
/** The default of five minutes is for real clusters; a demo must be shorter. */
const LOST_AFTER_SECONDS = 5;

export async function playUpdate(play: Play): Promise<string[]> {
  const { stage } = play;
  const image = await changeImage(play);
  stage.say(`the template's image is now ${image}; no cluster gets it before its turn`);
  await stage.until("every instance runs the new image", (scene) => isUpdated(scene, play));
  play.repairs.settle(TEMPLATE_OWED);
  return [
    `${plural(stage.cast.size, "instance")} on ${image} in ${stepsAndSeconds(stage)}.`,
    `Most instances down at once: ${stage.worst.mostDown} (${play.maxUnavailable} allowed).`,
    quorumKept(stage),
  ];
}

export async function playScale(play: Play): Promise<string[]> {
  const { stage, repairs } = play;
  const before = stage.cast.size;
  const names = [...stage.cast].map((key) => key.slice(key.indexOf("/") + 1)).join(" ");
  const uids = uidsOf(stage.look(), stage.cast);
  const grown = before + GROW_BY;
  const { scaleTo, original } = scaling(play);
  const shrink = () => scaleTo(original);
  stage.say(`there are ${names}; ${grown} instances are wanted now`);
  const owed = `${before} instances`;
  await repairs.change(owed, () => scaleTo(grown, true), shrink);
  await stage.until(`${grown} instances are ready`, (scene) => isScaled(scene, grown));
  const kept = uidsOf(stage.look(), stage.cast) === uids;
  const joined = [...stage.look().instances.keys()].filter((key) => !stage.cast.has(key)).sort(natural);
  stage.say(
    kept
      ? `no instance was renumbered or restarted: ${names} are the same as before, and ${joined.join(", ")} are new`
      : "an instance from before was replaced meanwhile",
  );
  stage.say(`${before} instances are wanted again`);
  await shrink();
  await stage.until(`${before} instances are left`, (scene) => isScaled(scene, before));
  repairs.settle(owed);
  const same = uidsOf(stage.look(), stage.cast) === uids;
  return [
    `From ${before} to ${grown} instances and back in ${stepsAndSeconds(stage)}.`,
    same
      ? `The same ${before} instances run as before: none renumbered, none restarted.`
      : "Not all instances are the same as before: something else replaced one meanwhile.",
    `Most of them down at once: ${stage.worst.mostDown}.`,
    quorumKept(stage),
  ];
}

export async function playLoseCluster(play: Play): Promise<string[]> {
  const { hub, stage, repairs, object } = play;
  const cluster = expendable(stage.cast);
  const inside = new Set([...stage.cast].filter((key) => key.startsWith(`${cluster}/`)));
  const held = [...inside].map((key) => key.slice(key.indexOf("/") + 1)).join(" ");
  const uids = uidsOf(stage.look(), inside);
  const failover = isJsonObject(object.spec) && isJsonObject(object.spec.failover) ? object.spec.failover : {};
  const patience = `failover.afterSeconds ${failover.afterSeconds ?? "as it was"}`;
  const restorePatience = () => patchExample(play, { failover: { afterSeconds: failover.afterSeconds ?? null } });
  const hurry = () => patchExample(play, { failover: { afterSeconds: LOST_AFTER_SECONDS } }, object);
  await repairs.change(patience, hurry, restorePatience);
  stage.say(
    `for this demo a cluster counts as lost after ${LOST_AFTER_SECONDS} s (failover.afterSeconds; restored afterwards)`,
  );

  const way = `the connection to ${cluster}`;
  const mend = () => steer(hub, cluster, "mend");
  await repairs.change(way, () => steer(hub, cluster, "cut"), mend);
  stage.cut = cluster;
  stage.say(`${cluster}  is disconnected from the hub; its instances keep running: ${held}`);
  const image = await changeImage(play);
  stage.say(`meanwhile the template's image is now ${image}`);
  await stage.until(`all but ${cluster} run the new image`, (scene) => isUpdated(scene, play, cluster));
  const untouched = uidsOf(stage.look(), inside) === uids;
  stage.say(
    untouched
      ? `${cluster}  read directly: ${held} still exists unchanged; nothing was deleted`
      : `${cluster}  an instance inside it has changed meanwhile`,
  );

  await mend();
  repairs.settle(way);
  stage.cut = undefined;
  stage.say(`${cluster}  is connected again`);
  await stage.until(`${cluster} has caught up`, (scene) => isUpdated(scene, play));
  repairs.settle(TEMPLATE_OWED);
  await restorePatience();
  repairs.settle(patience);
  await stage.until("the controller has seen the restored setting", isAtRest);
  return [
    `${plural(stage.cast.size, "instance")} on ${image} in ${stepsAndSeconds(stage)}, with ${cluster} disconnected for most of it.`,
    untouched
      ? `Nothing in ${cluster} was deleted or replaced while it was disconnected.`
      : `${cluster} changed while it was disconnected.`,
    `Most instances down at once: ${stage.worst.mostDown} (${play.maxUnavailable} allowed).`,
    quorumKept(stage),
  ];
}

const TEMPLATE_OWED = "the template's image";

async function changeImage(play: Play): Promise<string> {
  const { example, repairs, template } = play;
  const before = imageOf(template);
  if (before === undefined) {
    throw new CommandError(`${template.kind} ${example.at.namespace}/${example.at.name} has no image to update`);
  }
  const image = nextImage(before);
  const write = async (to: string, seen?: KubeObject) => {
    await patch(play, example.templates, withImage(template, to), seen);
  };
  await repairs.change(
    TEMPLATE_OWED,
    () => write(image, template),
    () => write(before),
  );
  return image;
}

/** The last number of the tag is incremented, so that the demo can be repeated. */
export function nextImage(image: string): string {
  const [, head, last] = /^(.*:(?:[^:/]*\D)?)(\d+)$/.exec(image) ?? [];
  return head === undefined ? `${withoutTag(image)}:1.1` : `${head}${Number(last) + 1}`;
}

/** With `seen`: only if the object has not changed since. */
async function patch({ hub, example }: Play, of: Resource, spec: JsonObject, seen?: KubeObject): Promise<KubeObject> {
  const resourceVersion = seen?.metadata.resourceVersion;
  const body: JsonObject = resourceVersion === undefined ? { spec } : { metadata: { resourceVersion }, spec };
  return hub.client.patch(of, example.at, { type: "merge", body }, { ...hub.request, ...WRITE });
}

async function patchExample(play: Play, spec: JsonObject, seen?: KubeObject): Promise<void> {
  play.stage.wrote(await patch(play, STATEFULSETS, spec, seen));
}

/** As `lockstep scale` does it: the template, which the scheduler reads, unless the example sets its own number. */
function scaling(play: Play): {
  original: number;
  scaleTo: (replicas: number, ifUnchanged?: boolean) => Promise<void>;
} {
  const { example, object, template } = play;
  const own = isJsonObject(object.spec) ? object.spec.replicas : undefined;
  if (typeof own === "number") {
    return {
      original: own,
      scaleTo: (replicas, strict) => patchExample(play, { replicas }, strict ? object : undefined),
    };
  }
  const count = isJsonObject(template.spec) ? template.spec.replicas : undefined;
  return {
    original: typeof count === "number" ? count : 1,
    async scaleTo(replicas, strict) {
      await patch(play, example.templates, { replicas }, strict ? template : undefined);
    },
  };
}

/** All clusters, except the disconnected one, have completed another revision than the initial one. */
function isUpdated(scene: Scene, { object }: Play, except?: string): boolean {
  const { status, instances, cut } = scene;
  const to = status.updateRevision;
  const began = isJsonObject(object.status) ? object.status.updateRevision : undefined;
  if (to === undefined || to === began) return false;
  const rows = (status.clusters ?? []).filter(({ name, ordinals = [] }) => name !== except && ordinals.length > 0);
  const here = [...instances.values()].filter(({ cluster }) => cluster !== cut);
  return (
    rows.every(({ granted, phase }) => granted?.revision === to && phase === "Settled") &&
    here.every(({ ready }) => ready) &&
    (except !== undefined || isAtRest(scene))
  );
}

function isAtRest({ status, isCurrent }: Scene): boolean {
  return isCurrent && status.phase === "Settled";
}

function isScaled(scene: Scene, count: number): boolean {
  const { status, instances } = scene;
  return (
    isAtRest(scene) &&
    status.desiredReplicas === count &&
    instances.size === count &&
    [...instances.values()].every(({ ready }) => ready)
  );
}

/** The cluster with the fewest instances. The others must be able to lose one more and still have a majority. */
export function expendable(cast: Cast): string {
  const counts = new Map<string, number>();
  for (const key of [...cast].sort(natural)) {
    const cluster = key.slice(0, key.indexOf("/"));
    counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
  }
  const fewest = Math.min(...counts.values());
  const chosen = [...counts].findLast(([, count]) => count === fewest)?.[0];
  if (chosen !== undefined && cast.size - fewest - 1 >= majorityOf(cast.size)) return chosen;
  const spread = [...counts].map(([name, count]) => `${count} in ${name}`).join(", ");
  throw new CommandError(
    `with ${spread} no cluster can be lost while the others are updated within quorum (${majorityOf(cast.size)} of ${cast.size}). ` +
      "Start 'up' with --clusters 3 or more",
  );
}

function uidsOf({ instances }: Scene, keys: ReadonlySet<string>): string {
  const kept = [...instances.values()].filter((one) => keys.has(keyOf(one)));
  return kept
    .map((one) => `${keyOf(one)} ${one.uid}`)
    .sort()
    .join();
}

function stepsAndSeconds(stage: Stage): string {
  return `${plural(stage.steps, "step")} and ${(stage.elapsedMs / 1000).toFixed(1)} seconds`;
}

function quorumKept({ cast, worst }: Stage): string {
  const majority = majorityOf(cast.size);
  const kept = worst.leastReady >= majority ? "kept" : "LOST";
  return `Quorum ${kept}: never fewer than ${worst.leastReady} of ${cast.size} ready and reachable, ${majority} needed.`;
}
