import { type ParsedCrossClusterStatefulset, parseCrossClusterStatefulset } from "../api/index.ts";
import { ConflictError, type KubeObject } from "../kube/index.ts";
import type { GlobalOptions } from "./command.ts";
import { membersOf, steer } from "./demo-fleet.ts";
import { Stage } from "./demo-stage.ts";
import { type Play, playLoseCluster, playScale, playUpdate, Repairs } from "./demo-stories.ts";
import { CommandError } from "./errors.ts";
import { type Hub, STATEFULSETS, withHub } from "./hub.ts";
import type { Io } from "./io.ts";
import { print } from "./output.ts";
import { statusOf } from "./status-run.ts";
import { EXAMPLES, type Example } from "./up-example.ts";

const STORIES = { update: playUpdate, scale: playScale, "lose-cluster": playLoseCluster };
export type Story = keyof typeof STORIES;

/** Where `up` writes it, in the folder where it was started. */
const UP_KUBECONFIG = ".lockstep/kubeconfig";
/** What shells show for a program that Ctrl-C ended. */
const INTERRUPTED_EXIT_CODE = 130;
const BROKEN_PROMISE_EXIT_CODE = 1;

export async function runDemo(io: Io, story: Story, options: GlobalOptions): Promise<number> {
  const kubeconfig = kubeconfigOf(io, options);
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
      if (error instanceof ConflictError) throw busy(io, example, "somebody changed it at the same moment");
      if (!stop.aborted) throw error;
    } finally {
      await stage.close();
      if (stop.aborted) print(io, "Interrupted.");
      for (const line of await repairs.makeGood()) print(io, line);
    }
    if (stop.aborted) return INTERRUPTED_EXIT_CODE;
    print(io, `\n${summary.join("\n")}`);
    return stage.tally.mostDown > maxUnavailable ? BROKEN_PROMISE_EXIT_CODE : 0;
  });
}

/** For a story that was killed before it could put things back. */
export async function mendAll(io: Io, options: GlobalOptions): Promise<undefined> {
  return withHub(io, { ...options, kubeconfig: kubeconfigOf(io, options) }, async (hub) => {
    const away = (await membersOf(hub, io.program)).filter(({ reachable }) => !reachable);
    for (const { name } of away) {
      await steer(hub, name, "mend");
      print(io, `${name} is connected again`);
    }
    if (away.length === 0) print(io, "no cluster is cut off");
    return undefined;
  });
}

function kubeconfigOf(io: Io, options: GlobalOptions): string {
  if (options.kubeconfig !== undefined) return options.kubeconfig;
  try {
    io.readFile(UP_KUBECONFIG);
    return UP_KUBECONFIG;
  } catch (error) {
    const elsewhere = io.env.KUBECONFIG;
    if (elsewhere) return elsewhere;
    throw new CommandError(
      `no fleet runs here: ${UP_KUBECONFIG} does not exist in this folder. Start one with '${io.program} up' in another ` +
        "terminal, in this folder, or name its kubeconfig with --kubeconfig",
      { cause: error },
    );
  }
}

/** All clusters' names. Throws when one is cut off: a story begins with all of them. */
async function wholeFleet(io: Io, hub: Hub): Promise<string[]> {
  const members = await membersOf(hub, io.program);
  const away = members.filter(({ reachable }) => !reachable).map(({ name }) => name);
  if (away.length === 0) return members.map(({ name }) => name);
  throw new CommandError(
    `${away.join(", ")} is cut off: a story is in progress in another terminal; wait for its end. If it was killed, ` +
      `reconnect with '${io.program} demo lose-cluster --mend'`,
  );
}

interface Found {
  readonly example: Example;
  readonly object: KubeObject;
  readonly template: KubeObject;
  readonly parsed: ParsedCrossClusterStatefulset;
}

/** The example that `up` was started with: the first whose object is there. */
async function exampleOf(io: Io, hub: Hub): Promise<Found> {
  for (const example of EXAMPLES) {
    const object = await hub.client.find(STATEFULSETS, example.at, hub.request);
    if (!object) continue;
    const where = whereOf(example);
    const template = await hub.client.find(example.templates, example.at, hub.request);
    if (!template) {
      throw new CommandError(
        `${example.templates.kind} ${where} does not exist. Apply it again, or start '${io.program} up' anew`,
      );
    }
    const parsed = parseCrossClusterStatefulset(object);
    if (!parsed.ok) {
      throw new CommandError(
        `CrossClusterStatefulset ${where} is not valid; '${io.program} why ${example.at.name}' says more`,
      );
    }
    const { phase = "not seen yet", observedGeneration, reason } = statusOf(object);
    if (phase !== "Settled" || observedGeneration !== object.metadata.generation) {
      throw busy(io, example, `it is ${phase}${reason === undefined ? "" : ` (${reason})`}`);
    }
    return { example, object, template, parsed: parsed.value };
  }
  throw new CommandError(
    `no example is on this fleet: none of CrossClusterStatefulset ${EXAMPLES.map(whereOf).join(", ")} exists. Start ` +
      `'${io.program} up' without --example none, or apply examples/statefulset with kubectl`,
  );
}

function whereOf({ at }: Example): string {
  return `${at.namespace}/${at.name}`;
}

function busy(io: Io, example: Example, what: string): CommandError {
  return new CommandError(
    `CrossClusterStatefulset ${whereOf(example)} is in the middle of something: ${what}, perhaps by a story in another terminal. ` +
      `Wait until it is Settled: '${io.program} status ${example.at.name} -w'`,
  );
}

function maxUnavailableOf({ spec }: ParsedCrossClusterStatefulset, desired: number): number {
  const { maxUnavailable } = spec.updateStrategy.rollingUpdate;
  const text = String(maxUnavailable);
  return text.endsWith("%") ? Math.ceil((Number.parseInt(text, 10) * desired) / 100) : Number(text);
}
