/** What commands show and do for ccj/NAME. */
import type { CrossClusterJobStatus } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";
import { CommandError } from "../../errors.ts";
import { patchSpecOf, timeNow } from "../../hub/change.ts";
import { withHub } from "../../hub/hub.ts";
import { CROSS_CLUSTER_JOBS, getJob } from "../../hub/job.ts";
import { type Bound, expectSeen } from "../../hub/seen.ts";
import type { GlobalOptions } from "../../options.ts";
import { confirm } from "../../terminal/confirm.ts";
import { durationOption } from "../../terminal/duration-option.ts";
import type { Io } from "../../terminal/io.ts";
import { formatOf, print, printData, table } from "../../terminal/output.ts";
import type { OutputOption } from "../registry.ts";

const LOOK_MS = 500;
const NOT_SO_EXIT_CODE = 1;

type Look = (io: Io, object: KubeObject, status: CrossClusterJobStatus) => void;

function statusOf({ status }: KubeObject): CrossClusterJobStatus {
  return isJsonObject(status) ? (status as CrossClusterJobStatus) : {};
}

function look(io: Io, given: string, options: OutputOption & GlobalOptions, show: Look): Promise<undefined> {
  const format = formatOf(options.output, ["json", "yaml"]);
  return withHub(io, options, async (hub) => {
    const object = await getJob(hub, given);
    if (format === "text") show(io, object, statusOf(object));
    else printData(io, format, object);
    return undefined;
  });
}

export function runJobStatus(io: Io, given: string, options: OutputOption & GlobalOptions): Promise<undefined> {
  return look(io, given, options, (_io, { metadata }, status) => {
    const { phase = "Pending", display = {}, active = 0, failed = 0, reason, message } = status;
    print(
      io,
      `${metadata.namespace}/${metadata.name}  ${phase}  ${display.completions ?? ""} done, ${active} active, ${failed} failed`,
    );
    if (status.expiresAt !== undefined) print(io, `ends by itself at ${status.expiresAt}`);
    if (reason !== undefined) print(io, `${reason}: ${message ?? ""}`);
    print(io, attemptTable(status));
  });
}

export function runJobHistory(io: Io, given: string, options: OutputOption & GlobalOptions): Promise<undefined> {
  return look(io, given, options, (_io, _object, status) => print(io, attemptTable(status)));
}

function attemptTable({ attempts = [] }: CrossClusterJobStatus): string {
  const rows = attempts.map((each) => [
    String(each.number),
    each.cluster,
    each.state,
    each.indexes ?? (each.completions === undefined ? "all" : String(each.completions)),
    each.startedAt ?? "",
    each.finishedAt ?? "",
    [each.reason, each.message].filter(Boolean).join(": "),
  ]);
  return table(["ATTEMPT", "CLUSTER", "STATE", "WORK", "STARTED", "FINISHED", "REASON"], rows).join("\n");
}

export function runJobWhy(io: Io, given: string, options: OutputOption & GlobalOptions): Promise<undefined> {
  return look(io, given, options, (_io, { metadata }, status) => {
    const { waiting = [], phase, reason, message } = status;
    if (phase === "Invalid" || phase === "Failed") print(io, `${reason}  ${message}`);
    else if (waiting.length === 0)
      print(io, `CrossClusterJob ${metadata.name} waits for nothing: it is ${phase ?? "new"}`);
    for (const each of waiting) {
      print(io, `${each.reason}  ${each.message}`);
      print(io, `  ${each.remedy}`);
    }
    if (phase === "Failed") print(io, `To try it again with what is left: ${io.program} retry ccj/${metadata.name}`);
  });
}

export interface JobWaitOptions {
  readonly timeout: string;
}

/** 0: complete. It fails at once if the work has failed or was refused. */
export function runJobWait(io: Io, given: string, options: JobWaitOptions & GlobalOptions): Promise<number> {
  const timeoutMs = durationOption("--timeout", options.timeout);
  return withHub(io, options, async (hub) => {
    const startedMs = hub.clock.monotonicMs();
    for (;;) {
      const object = await getJob(hub, given);
      const { phase, reason, message, observedGeneration } = statusOf(object);
      const isCurrent = observedGeneration === object.metadata.generation;
      if (isCurrent && phase === "Complete") {
        print(io, `CrossClusterJob ${object.metadata.name} is complete`);
        return 0;
      }
      if (isCurrent && phase === "Failed")
        throw new CommandError(`CrossClusterJob ${object.metadata.name} failed: ${reason}, ${message}`);
      if (isCurrent && phase === "Invalid" && reason !== "ReconcileFailed")
        throw new CommandError(`CrossClusterJob ${object.metadata.name} was refused: ${reason}, ${message}`);
      if (hub.clock.monotonicMs() - startedMs >= timeoutMs) {
        io.stderr.write(
          `CrossClusterJob ${object.metadata.name} is not complete: ${phase ?? "no status yet"}${reason ? `, ${reason}: ${message}` : ""}\n`,
        );
        return NOT_SO_EXIT_CODE;
      }
      await hub.clock.sleep(LOOK_MS);
    }
  });
}

export function runRetry(io: Io, given: string, options: GlobalOptions & Bound): Promise<undefined> {
  return withHub(io, options, async (hub) => {
    const object = await getJob(hub, given);
    expectSeen(`CrossClusterJob ${object.metadata.namespace}/${object.metadata.name}`, options.seen ?? {}, object);
    const { phase } = statusOf(object);
    if (phase !== "Failed") {
      throw new CommandError(
        `CrossClusterJob ${object.metadata.name} is ${phase ?? "new"}: only failed work can be tried again. To run complete work again, create another CrossClusterJob`,
      );
    }
    await patchSpecOf(hub, CROSS_CLUSTER_JOBS, object, { retry: timeNow(hub) }, options.seen);
    print(io, `CrossClusterJob ${object.metadata.name} is tried again, with what is left`);
    return undefined;
  });
}

export function runJobConfirmLost(
  io: Io,
  cluster: string,
  given: string,
  options: { yes?: boolean } & GlobalOptions,
): Promise<undefined> {
  return withHub(io, options, async (hub) => {
    const object = await getJob(hub, given);
    const { attempts = [] } = statusOf(object);
    const attempt = attempts.find((each) => each.cluster === cluster && each.finishedAt === undefined);
    if (!attempt)
      throw new CommandError(
        `CrossClusterJob ${object.metadata.name} has no attempt in cluster '${cluster}' that may still run`,
      );
    await confirm(
      io,
      options.yes,
      `Attempt ${attempt.number} in ${cluster} would count as over. If it still runs, the work runs twice.`,
    );
    const spec = isJsonObject(object.spec) ? object.spec : {};
    const failover = isJsonObject(spec.failover) ? spec.failover : {};
    const loss = isJsonObject(failover.onClusterLoss) ? failover.onClusterLoss : {};
    const others = (Array.isArray(loss.confirmedLost) ? loss.confirmedLost.filter(isJsonObject) : []).filter(
      ({ name }) => name !== cluster,
    );
    const confirmedLost = [...others, { name: cluster, at: timeNow(hub) }];
    await patchSpecOf(hub, CROSS_CLUSTER_JOBS, object, { failover: { onClusterLoss: { confirmedLost } } });
    print(io, `CrossClusterJob ${object.metadata.name}: ${cluster} is confirmed lost`);
    return undefined;
  });
}
