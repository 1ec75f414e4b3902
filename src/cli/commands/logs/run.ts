import { resource } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { CommandError, explain } from "../../errors.ts";
import { type Hub, withHub } from "../../hub/hub.ts";
import { getJob } from "../../hub/job.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { print } from "../../terminal/output.ts";
import type { LogsOptions } from "./command.ts";

const PODS = resource({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true });
const JOB_NAME_LABEL = "batch.kubernetes.io/job-name";
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
    let count = 0;
    for (const attempt of attempts) count += await logsOf(io, hub, metadata.namespace ?? "", attempt);
    if (count === 0) {
      io.stderr.write(
        "No logs: the pods are gone. With spec.memberCleanup AfterTTL or Never they are kept after the end of an attempt.\n",
      );
    }
    return undefined;
  });
}

async function logsOf(io: Io, hub: Hub, namespace: string, attempt: JsonObject): Promise<number> {
  const cluster = String(attempt.cluster);
  const path = ["apis", "cluster.karmada.io", "v1alpha1", "clusters", cluster, "proxy"] as const;
  try {
    const selection = { namespace, labelSelector: `${JOB_NAME_LABEL}=${String(attempt.object)}` };
    const { items } = await hub.client.below(...path).listAll(PODS, { ...selection, ...hub.request });
    for (const { metadata } of items) {
      const done = new AbortController();
      const cancel = hub.clock.after(TIMEOUT_MS, () => done.abort(new Error(`no answer within ${TIMEOUT_MS} ms`)));
      const url = `/${path.map(encodeURIComponent).join("/")}/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(metadata.name)}/log?limitBytes=${LOG_BYTES}`;
      const answer = await hub.transport
        .request({ method: "GET", path: url, headers: {}, signal: done.signal })
        .finally(cancel);
      if (answer.status !== 200) throw new CommandError(`pods/log answered ${answer.status}`);
      for (const line of answer.body.split("\n"))
        if (line !== "") print(io, `${cluster} ${metadata.name}: ${plain(line)}`);
    }
    return items.length;
  } catch (error) {
    io.stderr.write(`attempt ${String(attempt.number)} in ${cluster} cannot be read: ${explain(error)}\n`);
    return 0;
  }
}

/** Programs may write anything: it must not control the terminal. */
function plain(line: string): string {
  return line.replaceAll(/[\p{Cc}\p{Cf}]+/gu, " ");
}
