/** All applications of all kinds. */
import { signal } from "@preact/signals";
import type { ApplicationRow, AppType } from "../../src/web/types.ts";
import { ago, count } from "../format.ts";
import { addressOf, namespace, nowMs, overview, trouble, watch } from "../state.ts";
import { Command, Empty, Pill } from "./common.tsx";

const search = signal("");
const reason = signal("");
const type = signal<AppType | "">("");
/** More rows than a person reads; the search finds the rest. */
const MAX_ROWS = 200;

/** What each kind is called in the list, and what its numbers count. */
export const KINDS: Readonly<Record<AppType, { readonly label: string; readonly counts: string }>> = {
  ccs: { label: "Stateful", counts: "instance" },
  dapp: { label: "Distributed", counts: "object" },
  ccj: { label: "Job", counts: "attempt" },
};
const TYPES = Object.keys(KINDS) as AppType[];

function matches({ type: kind, namespace: space, name, reason: why, clusters, phase }: ApplicationRow): boolean {
  const text = search.value.trim().toLowerCase();
  const hit =
    text === "" ||
    [`${space}/${name}`, why ?? "", phase, ...clusters].some((part) => part.toLowerCase().includes(text));
  return hit && (reason.value === "" || why === reason.value) && (type.value === "" || kind === type.value);
}

function Row({ row }: { row: ApplicationRow }) {
  const to = addressOf({ page: "application", type: row.type, namespace: row.namespace, name: row.name });
  return (
    <tr class={row.needsPerson ? "urgent" : ""}>
      <th scope="row">
        <a href={to}>{row.name}</a>
        <span class="dim"> {row.namespace}</span>
      </th>
      <td class="dim">{KINDS[row.type].label}</td>
      <td>
        <Pill word={row.phase} />
        {row.needsPerson && <span class="tag urgent">needs a person</span>}
      </td>
      <td class="number">
        {row.ready}/{row.desired}
      </td>
      <td class="number">{row.updated === undefined ? "" : `${row.updated}/${row.desired}`}</td>
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
export function Waiting() {
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
            {urgent === 0 ? "none needs a person" : `${urgent} ${urgent === 1 ? "needs" : "need"} a person`}
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
            Kind
            <select
              value={type.value}
              onChange={(event) => {
                type.value = TYPES.find((one) => one === event.currentTarget.value) ?? "";
              }}
            >
              <option value="">any</option>
              {TYPES.map((one) => (
                <option key={one} value={one}>
                  {KINDS[one].label}
                </option>
              ))}
            </select>
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
          <p>
            Declare a CrossClusterStatefulset, a DistributedApplication or a CrossClusterJob on the hub. An example to
            start from:
          </p>
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
                <th scope="col">Kind</th>
                <th scope="col">Phase</th>
                <th scope="col">Ready</th>
                <th scope="col">Updated</th>
                <th scope="col">Waits for</th>
                <th scope="col">Clusters</th>
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, MAX_ROWS).map((row) => (
                <Row key={`${row.type}/${row.namespace}/${row.name}`} row={row} />
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
