/** The port to the hub: everything that a signed-in viewer sees and does, with the viewer's own credentials. */
import type {
  Act,
  ApplicationName,
  ClusterAct,
  LiveEvent,
  LogsOf,
  PodReportsView,
  PodsOf,
  RecordOf,
  RecordView,
  Topic,
} from "./types.ts";

export interface Viewer {
  /** The user's name on the hub. */
  readonly user: string;
  readonly server: string;
  /** Sends whole snapshots, the newest one only, until the signal aborts. */
  watch(topic: Topic, send: (event: LiveEvent) => void, signal: AbortSignal): Promise<void>;
  /** Carries out one action and returns its effect in words. Throws Refused. */
  act(act: Act | ClusterAct): Promise<string>;
  /** The end of a pod's log, as the viewer may read it through the hub. Throws Refused. */
  logs(of: LogsOf): Promise<string>;
  /** The names of the pods of a workload, or of an attempt. Throws Refused. */
  pods(of: PodsOf): Promise<readonly string[]>;
  /** The pods of an application that are not ready. Throws Refused. */
  podReports(of: ApplicationName): Promise<PodReportsView>;
  /** The last rollout to a revision. Throws Refused. */
  record(of: RecordOf): Promise<RecordView>;
  /** Closes the connections to the hub. */
  close(): Promise<void>;
}

/** Thrown if a request cannot be served; the message is for the viewer. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
