import type { EngineDefinition } from "../../../engine/index.ts";
import { type KubeObject, resource } from "../../../kube/index.ts";
import { isJsonObject, type Json, type JsonObject, type Transport, valueAt } from "../../../runtime/index.ts";
import { CommandError, explain } from "../../errors.ts";
import { engineOf } from "../../hub/engine.ts";
import { type Hub, withHub } from "../../hub/hub.ts";
import { getJob } from "../../hub/job.ts";
import { withMember } from "../../hub/members.ts";
import { podLabelOf, workOf } from "../../hub/pod-places.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { print } from "../../terminal/output.ts";
import type { LogsOptions } from "./command.ts";

const PODS = resource({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true });
/** The end of each pod's log. */
const LOG_BYTES = 256 * 1024;
const TIMEOUT_MS = 10_000;

export function runLogs(io: Io, given: string, options: LogsOptions & GlobalOptions): Promise<undefined> {
  return withHub(io, options, async (hub) => {
    const object = await getJob(hub, given);
    const { status, metadata } = object;
    const all = isJsonObject(status) && Array.isArray(status.attempts) ? status.attempts.filter(isJsonObject) : [];
    const attempts = all.filter(({ number }) => options.attempt === undefined || String(number) === options.attempt);
    if (attempts.length === 0) {
      throw new CommandError(
        `CrossClusterJob ${metadata.name} has no attempt${options.attempt ? ` ${options.attempt}` : " yet"}`,
      );
    }
    const label = podLabelOf(workOf(object));
    const engine = await engineOf(hub);
    const counts: (number | undefined)[] = [];
    for (const attempt of attempts)
      counts.push(await logsOf(io, hub, engine, `${label}=${String(attempt.object)}`, object, attempt));
    if (counts.every((count) => count === 0)) {
      io.stderr.write(
        "No logs: the pods are gone. With spec.memberCleanup AfterTTL or Never they are kept after the end of an attempt.\n",
      );
    }
    return undefined;
  });
}

/** How many pods there are; undefined: its cluster cannot be read. One whose log cannot be read, such as one that has not started, leaves the others readable. */
async function logsOf(
  io: Io,
  hub: Hub,
  engine: EngineDefinition,
  labelSelector: string,
  { metadata: { namespace = "" } }: KubeObject,
  attempt: JsonObject,
): Promise<number | undefined> {
  const cluster = String(attempt.cluster);
  try {
    return await withMember(hub, engine, cluster, async (member) => {
      const { items } = await member.client.listAll(PODS, { namespace, labelSelector, ...hub.request });
      for (const { metadata, spec } of items) {
        const containers = containersOf(spec);
        const path = `${member.basePath}/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(metadata.name)}/log`;
        for (const container of containers) {
          const shown = `${cluster} ${metadata.name}${containers.length > 1 ? `/${container}` : ""}`;
          await printLog(io, hub, member.transport, path, { container, shown });
        }
      }
      return items.length;
    });
  } catch (error) {
    io.stderr.write(`attempt ${String(attempt.number)} in ${cluster} cannot be read: ${explain(error)}\n`);
    return undefined;
  }
}

/** An API server asks for the container's name if there are several. */
function containersOf(spec: Json | undefined): string[] {
  const containers = isJsonObject(spec) && Array.isArray(spec.containers) ? spec.containers.filter(isJsonObject) : [];
  return containers.map(({ name }) => String(name));
}

async function printLog(
  io: Io,
  hub: Hub,
  transport: Transport,
  path: string,
  { container, shown }: { readonly container: string; readonly shown: string },
): Promise<void> {
  const done = new AbortController();
  const cancel = hub.clock.after(TIMEOUT_MS, () => done.abort(new Error(`no answer within ${TIMEOUT_MS} ms`)));
  const url = `${path}?container=${encodeURIComponent(container)}&limitBytes=${LOG_BYTES}`;
  try {
    const { status, body } = await transport
      .request({ method: "GET", path: url, headers: {}, signal: done.signal })
      .finally(cancel);
    if (status === 200) {
      for (const line of body.split("\n")) if (line !== "") print(io, `${shown}: ${plain(line)}`);
    } else io.stderr.write(`${shown}: no log: ${plain(messageOf(body) || `its cluster answered ${status}`)}\n`);
  } catch (error) {
    io.stderr.write(`${shown}: no log: ${explain(error)}\n`);
  }
}

/** The message of a Status; empty if the answer is none. */
function messageOf(body: string): string {
  try {
    const message = valueAt(JSON.parse(body), "message");
    return typeof message === "string" ? message : "";
  } catch {
    return "";
  }
}

/** Programs may write anything: it must not control the terminal. */
function plain(line: string): string {
  return line.replaceAll(/[\p{Cc}\p{Cf}]+/gu, " ");
}
