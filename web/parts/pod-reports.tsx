/** What the pods that are not ready say themselves, read with the viewer's own rights while they look. */
import { useEffect, useState } from "preact/hooks";
import type { ApplicationName, PodReportsView, PodReportView } from "../../src/web/types.ts";
import { podReports } from "../api.ts";
import { clockTime, duration } from "../format.ts";
import { nowMs } from "../state.ts";
import { Pill } from "./common.tsx";
import { LogDialog } from "./logs.tsx";

const READ_EVERY_MS = 10_000;
/** Reasons of a pod on its way, which are no alarm. */
const ON_ITS_WAY: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing", "Terminating", "NotReady"]);

function lastEnd({ last }: PodReportView): string | undefined {
  if (last === undefined) return undefined;
  const endedMs = Date.parse(last.finishedAt ?? "");
  const when = Number.isFinite(endedMs) ? `, ${duration(nowMs.value - endedMs)} ago` : "";
  return `It last ended with exit code ${last.exitCode}${last.reason === undefined ? "" : ` (${last.reason})`}${when}.`;
}

function Pod({ pod, openLog }: { pod: PodReportView; openLog: () => void }) {
  const { cluster, name, reason, message, log } = pod;
  const end = lastEnd(pod);
  return (
    <li class="pod-report">
      <div class="pod-head">
        <strong>{name}</strong> <span class="dim">in {cluster}</span>
        <Pill word={reason} tone={ON_ITS_WAY.has(reason) ? "busy" : "bad"} isCode />
        <button type="button" class="quiet" aria-label={`The whole log of ${name} in ${cluster}`} onClick={openLog}>
          Log
        </button>
      </div>
      {message !== undefined && <p>{message}</p>}
      {end !== undefined && <p class="dim">{end}</p>}
      {log.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
        <pre tabIndex={0}>{log.join("\n")}</pre>
      )}
    </li>
  );
}

/** `change`: whatever makes the last report old at once, such as another wait. */
export function PodReports({ of, change }: { of: ApplicationName; change: string }) {
  const { type, namespace, name } = of;
  const [found, setFound] = useState<PodReportsView | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [opened, open] = useState<PodReportView | undefined>(undefined);
  useEffect(() => {
    let isOver = false;
    const read = async () => {
      if (document.hidden) return;
      try {
        const answer = await podReports({ type, namespace, name });
        if (isOver) return;
        setFound(answer);
        setProblem(undefined);
      } catch (error) {
        if (!isOver) setProblem(error instanceof Error ? error.message : String(error));
      }
    };
    void read();
    const timer = setInterval(read, READ_EVERY_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [type, namespace, name, change]);
  const { pods, notes, atMs } = found ?? { pods: [], notes: [], atMs: 0 };
  if (pods.length === 0 && notes.length === 0 && problem === undefined) return null;
  return (
    <>
      <h3>
        Pods that are not ready {found !== undefined && <span class="dim read-at">read at {clockTime(atMs)}</span>}
      </h3>
      <ul class="pod-reports">
        {pods.map((pod) => (
          <Pod key={`${pod.cluster}/${pod.name}`} pod={pod} openLog={() => open(pod)} />
        ))}
      </ul>
      {notes.map((note) => (
        <p key={note} class="dim">
          {note}
        </p>
      ))}
      {problem !== undefined && <p class="dim">They cannot be read: {problem}</p>}
      {opened !== undefined && (
        <LogDialog
          namespace={opened.namespace}
          cluster={opened.cluster}
          pod={opened.name}
          close={() => open(undefined)}
        />
      )}
    </>
  );
}
