/**
 * Every metric that a controller serves, with its alerts and its panel. `npm run generate` writes the Prometheus rules, the
 * Grafana dashboard and the table in docs/metrics.md from this file. Names follow what users of Karmada have on their
 * dashboards already: those of client-go and controller-runtime where there is one, and otherwise
 * `<subject>_<verb>_duration_seconds` and `_total` without a prefix.
 */

export interface Alert {
  readonly name: string;
  readonly expression: string;
  readonly for: string;
  readonly severity: "warning" | "critical";
  readonly summary: string;
  /** What to do about it. */
  readonly action: string;
}

export interface Panel {
  readonly title: string;
  readonly expression: string;
  /** In Grafana's words. */
  readonly unit: "s" | "bytes" | "short" | "ops" | "none";
  readonly legend: string;
}

export interface MetricDefinition {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds, ascending; only for histograms. */
  readonly buckets?: readonly number[];
  readonly panel?: Panel;
  readonly alerts?: readonly Alert[];
}

/** Milliseconds to a minute: requests, queues and single decisions. */
const QUICK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60] as const;
/** Seconds to hours: what members do. */
const SLOW = [1, 5, 15, 30, 60, 120, 300, 600, 1_200, 3_600, 14_400] as const;

const quantile = (metric: string, by = "") => `histogram_quantile(0.99, sum by (le${by}) (rate(${metric}_bucket[5m])))`;

export const METRICS = {
  application_dispatch_grant_duration_seconds: {
    type: "histogram",
    help: "From the event that opened a gate (or the user's edit) until the grants of the next step are written",
    labels: ["kind"],
    buckets: QUICK,
    panel: {
      title: "Gate to next grant, p99",
      expression: quantile("application_dispatch_grant_duration_seconds"),
      unit: "s",
      legend: "p99",
    },
    alerts: [
      {
        name: "LockstepGrantsSlow",
        expression: `${quantile("application_dispatch_grant_duration_seconds")} > 5`,
        for: "15m",
        severity: "warning",
        summary: "The controller takes more than 5 s from an open gate to the next grant",
        action:
          "Compare rest_client_request_duration_seconds (a slow hub) with nodejs_eventloop_lag_seconds (a busy controller).",
      },
    ],
  },
  application_complete_step_duration_seconds: {
    type: "histogram",
    help: "From the start of a step in one cluster until its gate opened",
    labels: ["kind", "step"],
    buckets: SLOW,
    panel: {
      title: "Time of a step, p99",
      expression: quantile("application_complete_step_duration_seconds", ", step"),
      unit: "s",
      legend: "{{step}}",
    },
  },
  application_started_steps_total: {
    type: "counter",
    help: "Steps that were started, by what they do",
    labels: ["kind", "step"],
    panel: {
      title: "Steps started",
      expression: "sum by (step) (rate(application_started_steps_total[5m]))",
      unit: "ops",
      legend: "{{step}}",
    },
  },
  applications: {
    type: "gauge",
    help: "Applications that the leader looks after",
    labels: ["kind"],
    panel: {
      title: "Applications",
      expression: "sum by (kind) (applications)",
      unit: "short",
      legend: "{{kind}}",
    },
  },
  application_waiting: {
    type: "gauge",
    help: "Applications that wait, by reason (docs/runbook.md has each), and whether the wait ends only when a person acts",
    labels: ["kind", "reason", "needs_person"],
    panel: {
      title: "Waiting applications, by reason",
      expression: "sum by (reason) (application_waiting)",
      unit: "short",
      legend: "{{reason}}",
    },
    alerts: [
      {
        name: "LockstepNeedsPerson",
        expression:
          'sum by (kind, reason) (application_waiting{needs_person="true",reason!~"Paused|AwaitingApproval"}) > 0',
        for: "15m",
        severity: "warning",
        summary: "{{ $value }} applications wait with {{ $labels.reason }}, which ends only when a person acts",
        action: "Run 'lockstep why' on the applications that 'lockstep status' shows with this reason.",
      },
      {
        name: "LockstepQuorumAtRisk",
        expression: 'sum by (kind) (application_waiting{reason="QuorumAtRisk"}) > 0',
        for: "10m",
        severity: "critical",
        summary: "{{ $value }} applications could lose their majority with one more instance down",
        action: "Bring instances back: 'lockstep why' names the ones that are not ready.",
      },
    ],
  },
  application_without_progress_seconds: {
    type: "gauge",
    help: "For applications with a step in progress: how long no step of theirs has come further",
    labels: ["kind", "namespace", "name"],
    panel: {
      title: "Longest time without progress",
      expression: "topk(10, application_without_progress_seconds)",
      unit: "s",
      legend: "{{namespace}}/{{name}}",
    },
    alerts: [
      {
        name: "LockstepNoProgress",
        expression: "application_without_progress_seconds > 900",
        for: "5m",
        severity: "warning",
        summary: "{{ $labels.namespace }}/{{ $labels.name }} has a step that has not come further for 15 minutes",
        action: "Run 'lockstep why NAME': it names the cluster, the evidence and the remedy.",
      },
    ],
  },
  application_quorum_margin: {
    type: "gauge",
    help: "Ready voters beyond the majority; 0: the next failure stops the application, below 0: it has no majority",
    labels: ["kind", "namespace", "name"],
    panel: {
      title: "Smallest quorum margin",
      expression: "bottomk(10, application_quorum_margin)",
      unit: "none",
      legend: "{{namespace}}/{{name}}",
    },
    alerts: [
      {
        name: "LockstepNoQuorum",
        expression: "application_quorum_margin < 0",
        for: "1m",
        severity: "critical",
        summary: "{{ $labels.namespace }}/{{ $labels.name }} has no majority of ready voters",
        action: "Run 'lockstep status NAME': bring back the cluster or the instances that are down.",
      },
    ],
  },
  rest_client_requests_total: {
    type: "counter",
    help: "Requests to API servers, by answer; code '<error>' is a request without an answer. Cluster 'hub' is the hub itself",
    labels: ["cluster", "method", "code"],
    panel: {
      title: "API requests",
      expression: "sum by (cluster, code) (rate(rest_client_requests_total[5m]))",
      unit: "ops",
      legend: "{{cluster}} {{code}}",
    },
    alerts: [
      {
        name: "LockstepRequestsDenied",
        expression: 'sum by (cluster) (rate(rest_client_requests_total{code=~"401|403"}[10m])) > 0',
        for: "10m",
        severity: "warning",
        summary: "{{ $labels.cluster }} denies requests of the controller",
        action:
          "403: apply 'lockstep install' of this version, which contains every right that the controller needs. 401: its credentials have ended; write new ones into the Secret with its kubeconfig.",
      },
      {
        name: "LockstepRequestsFail",
        expression:
          'sum by (cluster) (rate(rest_client_requests_total{code=~"5..|429|<error>"}[10m])) / sum by (cluster) (rate(rest_client_requests_total[10m])) > 0.2',
        for: "10m",
        severity: "warning",
        summary: "More than a fifth of the requests to {{ $labels.cluster }} fail",
        action: "Check that API server, and Karmada's aggregated API server if it is a member.",
      },
    ],
  },
  rest_client_request_duration_seconds: {
    type: "histogram",
    help: "Time of a request to an API server, without watches",
    labels: ["target", "method"],
    buckets: QUICK,
    panel: {
      title: "API request time, p99",
      expression: quantile("rest_client_request_duration_seconds", ", target, method"),
      unit: "s",
      legend: "{{target}} {{method}}",
    },
  },
  workqueue_depth: {
    type: "gauge",
    help: "Objects that wait for a reconcile",
    labels: ["name"],
    panel: { title: "Queue depth", expression: "sum by (name) (workqueue_depth)", unit: "short", legend: "{{name}}" },
  },
  workqueue_queue_duration_seconds: {
    type: "histogram",
    help: "How long an object waited for its reconcile",
    labels: ["name"],
    buckets: QUICK,
    panel: {
      title: "Time in the queue, p99",
      expression: quantile("workqueue_queue_duration_seconds", ", name"),
      unit: "s",
      legend: "{{name}}",
    },
    alerts: [
      {
        name: "LockstepQueueSlow",
        expression: `${quantile("workqueue_queue_duration_seconds", ", name")} > 10`,
        for: "15m",
        severity: "warning",
        summary: "Objects wait longer than 10 s for their reconcile",
        action: "Raise --concurrency if members answer slowly; give the controller more CPU if its event loop lags.",
      },
    ],
  },
  workqueue_work_duration_seconds: {
    type: "histogram",
    help: "Time of one reconcile",
    labels: ["name"],
    buckets: QUICK,
  },
  workqueue_retries_total: {
    type: "counter",
    help: "Reconciles that failed and are retried",
    labels: ["name"],
    panel: {
      title: "Failed reconciles",
      expression: "sum by (name) (rate(workqueue_retries_total[5m]))",
      unit: "ops",
      legend: "{{name}}",
    },
  },
  watch_streams: {
    type: "gauge",
    help: "Watches, by what they are for (own, objects, members) and state (open, waiting)",
    labels: ["lane", "state"],
    panel: {
      title: "Watch streams",
      expression: "sum by (lane, state) (watch_streams)",
      unit: "short",
      legend: "{{lane}} {{state}}",
    },
    alerts: [
      {
        name: "LockstepWatchesWait",
        expression: 'sum by (lane) (watch_streams{state="waiting"}) > 0',
        for: "10m",
        severity: "warning",
        summary: "{{ $value }} watches of {{ $labels.lane }} wait for a free stream; their clusters cannot be observed",
        action: "Raise --max-streams.",
      },
    ],
  },
  watch_streams_stalled: {
    type: "gauge",
    help: "Watches that show no sign of life; /healthz fails with them",
    labels: [],
  },
  leader_election_master_status: {
    type: "gauge",
    help: "1 for the process that leads, 0 for those that stand by",
    labels: ["name"],
    panel: {
      title: "Leader",
      expression: "max by (pod) (leader_election_master_status)",
      unit: "none",
      legend: "{{pod}}",
    },
    alerts: [
      {
        name: "LockstepNoLeader",
        expression: "(sum(leader_election_master_status) or vector(0)) < 1",
        for: "2m",
        severity: "critical",
        summary: "No Lockstep controller leads: nothing moves, and nothing is repaired",
        action: "Run 'lockstep doctor', and look at the log of the controller's pods.",
      },
    ],
  },
  nodejs_eventloop_lag_seconds: {
    type: "gauge",
    help: "The longest time that the event loop was late, since the last scrape",
    labels: [],
    panel: { title: "Event loop lag", expression: "nodejs_eventloop_lag_seconds", unit: "s", legend: "{{pod}}" },
  },
  nodejs_heap_size_used_bytes: {
    type: "gauge",
    help: "JavaScript heap in use",
    labels: [],
    panel: { title: "Heap", expression: "nodejs_heap_size_used_bytes", unit: "bytes", legend: "{{pod}}" },
  },
  process_resident_memory_bytes: {
    type: "gauge",
    help: "Memory of the process",
    labels: [],
    panel: { title: "Memory", expression: "process_resident_memory_bytes", unit: "bytes", legend: "{{pod}}" },
  },
  process_cpu_seconds_total: {
    type: "counter",
    help: "CPU time of the process",
    labels: [],
    panel: { title: "CPU", expression: "rate(process_cpu_seconds_total[5m])", unit: "none", legend: "{{pod}}" },
  },
  metrics_dropped_series: {
    type: "gauge",
    help: "Series of a metric that are not served, because there are too many of them",
    labels: ["metric"],
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

type Definitions = typeof METRICS;
export type MetricName = keyof Definitions;
export type MetricOf<Type extends MetricDefinition["type"]> = {
  [Name in MetricName]: Definitions[Name]["type"] extends Type ? Name : never;
}[MetricName];
export type LabelsOf<Name extends MetricName> = Readonly<Record<Definitions[Name]["labels"][number], string>>;
