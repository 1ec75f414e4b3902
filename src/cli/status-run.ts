import {
  CROSS_CLUSTER_STATEFULSET,
  type CrossClusterStatefulsetStatus,
  parseCrossClusterStatefulset,
} from "../api/index.ts";
import { type KubeObject, Reflector } from "../kube/index.ts";
import { isJsonObject, silentLog } from "../runtime/index.ts";
import type { GlobalOptions } from "./command.ts";
import { CommandError } from "./errors.ts";
import { bareName, getStatefulset, type Hub, listStatefulsets, STATEFULSETS, withHub } from "./hub.ts";
import type { Io } from "./io.ts";
import { clipped, formatOf, print, printData, styleOf, table } from "./output.ts";
import type { StatusOptions } from "./status.ts";
import { fittingTree, LIST_HEADS, listRow, type StatusView, statusTree, WIDE_HEADS } from "./status-view.ts";

/** The screen is drawn at most so often, whatever the hub sends. */
const REDRAW_MS = 100;
/** What has an age on the screen is drawn anew, though nothing came. */
const AGES_MS = 1_000;
const HOME_AND_CLEAR_DOWN = "\u001b[H\u001b[J";
const ALTERNATE_SCREEN = "\u001b[?1049h";
const NORMAL_SCREEN = "\u001b[?1049l";

export async function runStatus(
  io: Io,
  given: string | undefined,
  options: StatusOptions & GlobalOptions,
): Promise<undefined> {
  const format = formatOf(options.output, ["json", "yaml", "wide", "name"]);
  if (given !== undefined && options.allNamespaces) {
    throw new CommandError("a name and --all-namespaces do not go together; use -n to say where the object is");
  }
  if (options.watch && (given === undefined || (format !== "text" && format !== "json"))) {
    throw new CommandError("--watch needs a name, and goes with the tree or -o json only");
  }
  return withHub(io, options, async (hub) => {
    if (given === undefined) return list(io, hub, options, format);
    const object = await getStatefulset(hub, given);
    if (options.watch) return watch(io, hub, bareName(given), format === "json");
    if (format === "json" || format === "yaml") printData(io, format, object);
    else if (format === "name") print(io, kubectlName(object));
    else {
      const view = { object, status: statusOf(object) };
      const options = { wide: format === "wide" };
      print(io, statusTree(view, styleOf(io), hub.clock.now(), options).join("\n"));
    }
    return undefined;
  });
}

async function list(
  io: Io,
  hub: Hub,
  { allNamespaces }: StatusOptions,
  format: "text" | "json" | "yaml" | "wide" | "name",
): Promise<undefined> {
  const items = await listStatefulsets(hub, allNamespaces ? undefined : hub.namespace);
  if (format === "json" || format === "yaml") {
    printData(io, format, { apiVersion: "v1", kind: "List", items });
  } else if (format === "name") {
    for (const object of items) print(io, kubectlName(object));
  } else if (items.length === 0) {
    io.stderr.write(`No CrossClusterStatefulsets found${allNamespaces ? "" : ` in namespace ${hub.namespace}`}.\n`);
  } else {
    const wide = format === "wide";
    const heads = wide ? WIDE_HEADS : LIST_HEADS;
    const rows = items.map((object) => [
      ...(allNamespaces ? [object.metadata.namespace ?? ""] : []),
      ...listRow({ object, status: statusOf(object) }, wide, hub.clock.now()),
    ]);
    print(io, table(allNamespaces ? ["NAMESPACE", ...heads] : heads, rows).join("\n"));
  }
  return undefined;
}

/** Redrawn in place on a terminal; when piped, the tree again after every change, or one JSON object per line. */
async function watch(io: Io, hub: Hub, name: string, json: boolean): Promise<undefined> {
  const stop = new AbortController();
  const interrupted = io.interrupted();
  const end = () => stop.abort(interrupted.reason);
  interrupted.addEventListener("abort", end, { once: true });
  if (interrupted.aborted) end();
  const { client, clock, random, namespace } = hub;
  const objects = new Reflector<KubeObject>({
    client,
    resource: STATEFULSETS,
    clock,
    random,
    log: silentLog,
    selection: { namespace, fieldSelector: `metadata.name=${name}` },
    selects: ({ metadata }) => metadata.name === name,
  });
  const screen = io.stdout.isTerminal && !json;
  const style = styleOf(io);
  let shown = "";
  let due = true;
  const show = () => {
    due = false;
    const object = objects.cache.get({ namespace, name });
    if (!object) {
      if (shown !== "") stop.abort(new CommandError(`CrossClusterStatefulset ${namespace}/${name} has been deleted`));
      return;
    }
    const view: StatusView = { object, status: statusOf(object) };
    const text = json ? JSON.stringify(object) : statusTree(view, style, clock.now()).join("\n");
    if (text === shown) return;
    shown = text;
    // A longer or wider picture would scroll, and the next one would not cover it.
    const { rows, columns } = io.stdout;
    const lines = () => fittingTree(view, style, clock.now(), Math.max(1, rows - 1));
    if (screen)
      io.stdout.write(
        `${HOME_AND_CLEAR_DOWN}${lines()
          .map((line) => clipped(line, columns))
          .join("\n")}\n`,
      );
    else print(io, json ? text : `${text}\n\n`);
  };
  const changed = () => {
    due = true;
  };
  objects.cache.subscribe({ added: changed, updated: changed, deleted: changed });
  if (screen) io.stdout.write(ALTERNATE_SCREEN);
  const running = objects.run(stop.signal);
  try {
    await objects.cache.synced(stop.signal);
    for (let sinceDrawnMs = 0; !stop.signal.aborted; sinceDrawnMs += REDRAW_MS) {
      if (due || (screen && sinceDrawnMs >= AGES_MS)) {
        show();
        sinceDrawnMs = 0;
      }
      await clock.sleep(REDRAW_MS, stop.signal);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    end();
    await running;
    // The last picture stays, below what was on the screen before.
    if (screen) io.stdout.write(`${NORMAL_SCREEN}${shown}\n`);
  }
  if (stop.signal.reason instanceof CommandError) throw stop.signal.reason;
  return undefined;
}

export function statusOf(object: KubeObject): CrossClusterStatefulsetStatus {
  const parsed = parseCrossClusterStatefulset(object);
  if (parsed.ok) return parsed.value.status ?? {};
  // A spec that this version refuses still has a status worth showing.
  const status = isJsonObject(object.status) ? object.status : {};
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  const [phase, reason, message] = [text(status.phase), text(status.reason), text(status.message)];
  return {
    ...(phase !== undefined && { phase }),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  };
}

function kubectlName({ metadata }: KubeObject): string {
  const { singular, group } = CROSS_CLUSTER_STATEFULSET;
  return `${singular}.${group}/${metadata.name}`;
}
