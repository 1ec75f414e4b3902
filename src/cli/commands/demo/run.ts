import { type ParsedCrossClusterStatefulset, parseCrossClusterStatefulset } from "../../../api/index.ts";
import { ConflictError, type KubeObject } from "../../../kube/index.ts";
import { CommandError } from "../../errors.ts";
import { type Hub, STATEFULSETS, withHub } from "../../hub/hub.ts";
import { statusOf } from "../../hub/status.ts";
import { fleetKubeconfig, membersOf, steer } from "../../hub/up-fleet.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { print } from "../../terminal/output.ts";
import { EXAMPLES, type Example } from "../up/example.ts";
import { Stage } from "./stage.ts";
import { type Play, playLoseCluster, playScale, playUpdate, Repairs } from "./stories.ts";

const STORIES = { update: playUpdate, scale: playScale, "lose-cluster": playLoseCluster };
export type Story = keyof typeof STORIES;

/** The exit code that shells show after Ctrl-C. */
const INTERRUPTED_EXIT_CODE = 130;
const BROKEN_PROMISE_EXIT_CODE = 1;

export async function runDemo(io: Io, story: Story, options: GlobalOptions): Promise<number> {
  const kubeconfig = fleetKubeconfig(io, options);
  return withHub(io, { ...options, kubeconfig }, async (hub) => {
    const clusters = await wholeFleet(io, hub);
    const { example, object, template, parsed } = await exampleOf(io, hub);
    const status = statusOf(object);
    const stop = io.interrupted();
    const stage = new Stage({ io, hub, kubeconfig, clusters, example, stop });
    const repairs = new Repairs();
    const maxUnavailable = maxUnavailableOf(parsed, status.desiredReplicas ?? 0);
    const play: Play = { example, hub, stage, repairs, object, template, maxUnavailable };
    let summary: string[] = [];
    try {
      await stage.open();
      summary = await STORIES[story](play);
    } catch (error) {
      if (error instanceof ConflictError) throw busy(io, example, "another user changed it at the same time");
      if (!stop.aborted) throw error;
    } finally {
      await stage.close();
      if (stop.aborted) print(io, "Interrupted.");
      for (const line of await repairs.makeGood()) print(io, line);
    }
    if (stop.aborted) return INTERRUPTED_EXIT_CODE;
    print(io, `\n${summary.join("\n")}`);
    return stage.worst.mostDown > maxUnavailable ? BROKEN_PROMISE_EXIT_CODE : 0;
  });
}

/** For a demo that was killed before it could restore things. */
export async function mendAll(io: Io, options: GlobalOptions): Promise<undefined> {
  return withHub(io, { ...options, kubeconfig: fleetKubeconfig(io, options) }, async (hub) => {
    const away = (await membersOf(hub, io.program)).filter(({ reachable }) => !reachable);
    for (const { name } of away) {
      await steer(hub, name, "mend");
      print(io, `${name} is connected again`);
    }
    if (away.length === 0) print(io, "no cluster is disconnected");
    return undefined;
  });
}

/** All clusters' names. Throws if one is disconnected: a demo starts with all of them. */
async function wholeFleet(io: Io, hub: Hub): Promise<string[]> {
  const members = await membersOf(hub, io.program);
  const away = members.filter(({ reachable }) => !reachable).map(({ name }) => name);
  if (away.length === 0) return members.map(({ name }) => name);
  throw new CommandError(
    `${away.join(", ")} is disconnected: a demo is running in another terminal; wait until it ends. If it was killed, ` +
      `reconnect it with '${io.program} demo lose-cluster --mend'`,
  );
}

interface Found {
  readonly example: Example;
  readonly object: KubeObject;
  readonly template: KubeObject;
  readonly parsed: ParsedCrossClusterStatefulset;
}

/** The example that `up` was started with: the first whose object exists. */
async function exampleOf(io: Io, hub: Hub): Promise<Found> {
  for (const example of EXAMPLES) {
    const object = await hub.client.find(STATEFULSETS, example.at, hub.request);
    if (!object) continue;
    const where = whereOf(example);
    const template = await hub.client.find(example.templates, example.at, hub.request);
    if (!template) {
      throw new CommandError(
        `${example.templates.kind} ${where} does not exist. Apply it again, or start '${io.program} up' again`,
      );
    }
    const parsed = parseCrossClusterStatefulset(object);
    if (!parsed.ok) {
      throw new CommandError(
        `CrossClusterStatefulset ${where} is not valid; '${io.program} why ${example.at.name}' shows the reason`,
      );
    }
    const { phase = "not seen yet", observedGeneration, reason } = statusOf(object);
    if (phase !== "Settled" || observedGeneration !== object.metadata.generation) {
      throw busy(io, example, `it is ${phase}${reason === undefined ? "" : ` (${reason})`}`);
    }
    return { example, object, template, parsed: parsed.value };
  }
  throw new CommandError(
    `this fleet has no example: none of CrossClusterStatefulset ${EXAMPLES.map(whereOf).join(", ")} exists. Start ` +
      `'${io.program} up' without --example none, or apply examples/statefulset with kubectl`,
  );
}

function whereOf({ at }: Example): string {
  return `${at.namespace}/${at.name}`;
}

function busy(io: Io, example: Example, what: string): CommandError {
  return new CommandError(
    `CrossClusterStatefulset ${whereOf(example)} is not settled: ${what}, perhaps because of a demo in another terminal. ` +
      `Wait until it is Settled: '${io.program} status ${example.at.name} -w'`,
  );
}

function maxUnavailableOf({ spec }: ParsedCrossClusterStatefulset, desired: number): number {
  const { maxUnavailable } = spec.updateStrategy.rollingUpdate;
  const text = String(maxUnavailable);
  return text.endsWith("%") ? Math.ceil((Number.parseInt(text, 10) * desired) / 100) : Number(text);
}
