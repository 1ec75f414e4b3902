/** All applications, and the fleet. */
import { signal } from "@preact/signals";
import type { ApplicationRow, FleetCluster } from "../../src/web/types.ts";
import { ago, count } from "../format.ts";
import { addressOf, namespace, nowMs, overview, trouble, watch } from "../state.ts";
import { Command, Empty, Pill } from "./common.tsx";

const search = signal("");
const reason = signal("");
/** More rows than a person reads; the search finds the rest. */
const MAX_ROWS = 200;

function matches({ namespace: space, name, reason: why, clusters, phase }: ApplicationRow): boolean {
  const text = search.value.trim().toLowerCase();
  const hit =
    text === "" ||
    [`${space}/${name}`, why ?? "", phase, ...clusters].some((part) => part.toLowerCase().includes(text));
  return hit && (reason.value === "" || why === reason.value);
}

function Row({ row }: { row: ApplicationRow }) {
  const to = addressOf({ page: "application", namespace: row.namespace, name: row.name });
  return (
    <tr class={row.needsPerson ? "urgent" : ""}>
      <th scope="row">
        <a href={to}>{row.name}</a>
        <span class="dim"> {row.namespace}</span>
      </th>
      <td>
        <Pill word={row.phase} />
        {row.needsPerson && <span class="tag urgent">needs a person</span>}
      </td>
      <td class="number">
        {row.ready}/{row.desired}
      </td>
      <td class="number">
        {row.updated}/{row.desired}
      </td>
      <td>
        {row.reason !== undefined && (
          <>
            <strong>{row.reason}</strong>
            {row.since !== undefined && <span class="dim"> {ago(row.since, nowMs.value)}</span>}
            <span class="dim message">{row.message}</span>
          </>
        )}
      </td>
      <td class="dim">{row.clusters.join(", ")}</td>
    </tr>
  );
}

/** Until there is something to show; undefined: there is. */
function Waiting() {
  const problem = trouble.value;
  if (!problem) return <p class="loading">Reading the hub ...</p>;
  return (
    <Empty title="The hub does not answer">
      <p>{problem.message}</p>
      <p>This page tries again by itself. Check on the command line:</p>
      <Command text="lockstep doctor" />
    </Empty>
  );
}

function NamespaceForm() {
  const submit = (event: Event) => {
    event.preventDefault();
    sessionStorage.setItem("namespace", namespace.value);
    watch({ page: "applications" });
  };
  return (
    <form class="namespace" onSubmit={submit}>
      <label class="field">
        Show only the namespace
        <input
          value={namespace.value}
          placeholder="all namespaces"
          onInput={(event) => {
            namespace.value = event.currentTarget.value.trim();
          }}
        />
      </label>
      <button type="submit">Show</button>
    </form>
  );
}

export function Applications() {
  const data = overview.value;
  if (!data) return <Waiting />;
  const { applications, problems } = data;
  const reasons = [...new Set(applications.flatMap(({ reason: why }) => why ?? []))].sort();
  const shown = applications.filter(matches);
  const urgent = applications.filter(({ needsPerson }) => needsPerson).length;
  return (
    <>
      <div class="title-row">
        <div>
          <h1>Applications</h1>
          <p class="subtitle">
            {count(applications.length, "application")} ·{" "}
            {urgent === 0 ? "none needs a person" : `${urgent} need a person`}
          </p>
        </div>
        <div class="filters">
          <label class="field">
            Search
            <input
              id="search"
              type="search"
              placeholder="name, reason or cluster"
              value={search.value}
              onInput={(event) => {
                search.value = event.currentTarget.value;
              }}
            />
          </label>
          <label class="field">
            Reason
            <select
              value={reason.value}
              onChange={(event) => {
                reason.value = event.currentTarget.value;
              }}
            >
              <option value="">any</option>
              {reasons.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </label>
        </div>
      </div>
      {problems.map((problem) => (
        <p key={problem} class="problem">
          {problem}
        </p>
      ))}
      {(problems.length > 0 || namespace.value !== "") && <NamespaceForm />}
      {applications.length === 0 && problems.length === 0 && (
        <Empty title="No application yet">
          <p>Declare a CrossClusterStatefulset on the hub. An example to start from:</p>
          <Command text="kubectl apply -f examples/statefulset" />
        </Empty>
      )}
      {applications.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
        <section class="table-wrap" tabIndex={0} aria-label="Applications">
          <table class="list">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Phase</th>
                <th scope="col">Ready</th>
                <th scope="col">Updated</th>
                <th scope="col">Waits for</th>
                <th scope="col">Clusters</th>
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, MAX_ROWS).map((row) => (
                <Row key={`${row.namespace}/${row.name}`} row={row} />
              ))}
            </tbody>
          </table>
          {shown.length === 0 && <p class="dim pad">No application matches.</p>}
          {shown.length > MAX_ROWS && <p class="dim pad">and {shown.length - MAX_ROWS} more; search for them</p>}
        </section>
      )}
    </>
  );
}

function FleetCard({ cluster }: { cluster: FleetCluster }) {
  const { name, health, message, since, version, region, nodes, taints, draining, applications } = cluster;
  const instances = applications.reduce((sum, one) => sum + one.instances, 0);
  return (
    <li class={`cluster ${health === "Ready" ? "" : "bad"}`}>
      <div class="cluster-head">
        <h2>{name}</h2>
        <Pill word={health} />
      </div>
      <p class="cluster-facts">
        <strong>{count(instances, "instance")}</strong>
        {version !== undefined && <span>{version}</span>}
        {region !== undefined && <span>{region}</span>}
        {nodes !== undefined && <span>{count(nodes, "node")}</span>}
        {since !== undefined && <span>for {ago(since, nowMs.value)}</span>}
      </p>
      {message !== undefined && <p class="cluster-wait">{message}</p>}
      {draining && (
        <>
          <p class="cluster-wait">It is drained for maintenance: no step starts there.</p>
          <Command text={`lockstep undrain ${name}`} />
        </>
      )}
      {taints.length > 0 && <p class="dim">Taints: {taints.join(", ")}</p>}
      {applications.length === 0 ? (
        <p class="dim">Nothing that you may see runs here.</p>
      ) : (
        <ul class="runs">
          {applications.map((one) => (
            <li key={`${one.namespace}/${one.name}`}>
              <a href={addressOf({ page: "application", namespace: one.namespace, name: one.name })}>
                {one.namespace}/{one.name}
              </a>
              <span class="dim"> {count(one.instances, "instance")}</span>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

export function Fleet() {
  const data = overview.value;
  if (!data) return <Waiting />;
  const { clusters, problems } = data;
  const ready = clusters.filter(({ health }) => health === "Ready").length;
  return (
    <>
      <div class="title-row">
        <div>
          <h1>Fleet</h1>
          <p class="subtitle">
            {count(clusters.length, "cluster")} · {ready} ready
          </p>
        </div>
      </div>
      {problems.map((problem) => (
        <p key={problem} class="problem">
          {problem}
        </p>
      ))}
      <ul class="clusters fleet">
        {clusters.map((cluster) => (
          <FleetCard key={cluster.name} cluster={cluster} />
        ))}
      </ul>
      {clusters.length === 0 && problems.length === 0 && (
        <Empty title="No cluster has joined">
          <p>Applications are deployed when a member cluster joins this hub.</p>
          <Command text="kubectl get clusters" />
        </Empty>
      )}
    </>
  );
}
