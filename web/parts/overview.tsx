/** All applications of all kinds. */
import { computed, signal } from "@preact/signals";
import { Component } from "preact";
import type { ApplicationRow, AppType } from "../../src/web/types.ts";
import { count } from "../format.ts";
import { inOrder, keyOf, type Standing, standingOf } from "../overview.ts";
import { addressOf, namespace, overview, trouble, watch } from "../state.ts";
import { titleOf } from "../titles.ts";
import { Ago, Command, Empty, Pill } from "./common.tsx";

const search = signal("");
const reason = signal("");
const type = signal<AppType | "">("");
const standing = signal<Standing | "">("");
/** More rows than a person reads at once; a button shows the next ones. */
const PAGE_ROWS = 100;
const shownRows = signal(PAGE_ROWS);
const MAX_CLUSTERS = 2;

/** What each kind is called in the list, and what its numbers count. */
export const KINDS: Readonly<
  Record<AppType, { readonly label: string; readonly counts: string; readonly done: string }>
> = {
  ccs: { label: "Stateful", counts: "instance", done: "ready" },
  dapp: { label: "Distributed", counts: "object", done: "healthy" },
  ccj: { label: "Job", counts: "attempt", done: "done" },
};
const TYPES = Object.keys(KINDS) as AppType[];

const CHIPS: readonly { readonly of: Standing; readonly label: string; readonly tone: string }[] = [
  { of: "urgent", label: "waiting for a person", tone: "bad" },
  { of: "moving", label: "moving or waiting", tone: "busy" },
  { of: "steady", label: "steady", tone: "good" },
];

const ordered = computed(() => inOrder(overview.value?.applications ?? []));
const matching = computed(() => ordered.value.filter(matches));
const counts = computed(() => {
  const found: Record<Standing, number> = { urgent: 0, moving: 0, steady: 0 };
  for (const row of ordered.value) found[standingOf(row)] += 1;
  return found;
});
const reasons = computed(() => [...new Set(ordered.value.flatMap(({ reason: why }) => why ?? []))].sort());

function matches(row: ApplicationRow): boolean {
  const { type: kind, namespace: space, name, reason: why = "", clusters, phase } = row;
  if (reason.value !== "" && why !== reason.value) return false;
  if (type.value !== "" && kind !== type.value) return false;
  if (standing.value !== "" && standingOf(row) !== standing.value) return false;
  const text = search.value.trim().toLowerCase();
  if (text === "") return true;
  return [`${space}/${name}`, why, titleOf(why, undefined), phase, row.kind, ...clusters.map((one) => one.name)].some(
    (part) => part.toLowerCase().includes(text),
  );
}

function Share({ value, of, word, isGood = false }: { value: number; of: number; word: string; isGood?: boolean }) {
  return (
    <span class="share">
      <span class="number" data-word={isGood ? "ready" : "updated"}>
        {value}/{of}
      </span>
      <progress
        class={`rollout-progress ${isGood ? "good" : ""}`}
        aria-label={word}
        value={value}
        max={Math.max(1, of)}
      />
    </span>
  );
}

/** Drawn again only if its row has changed: an update of one application costs one row. */
class Row extends Component<{ row: ApplicationRow }> {
  override shouldComponentUpdate(next: { row: ApplicationRow }): boolean {
    return next.row !== this.props.row;
  }

  override render({ row }: { row: ApplicationRow }) {
    const to = addressOf({ page: "application", type: row.type, namespace: row.namespace, name: row.name });
    const names = row.clusters.map(({ name }) => name);
    const rest = names.length - MAX_CLUSTERS;
    return (
      <tr class={row.needsPerson ? "urgent" : ""}>
        <th scope="row">
          <a href={to}>{row.name}</a>
          <span class="dim">{row.namespace}</span>
        </th>
        <td class="dim">{KINDS[row.type].label}</td>
        <td>
          <Pill word={row.phase} />
          {row.needsPerson && <span class="tag bad">needs a person</span>}
        </td>
        <td>
          <Share value={row.ready} of={row.desired} word={`${row.name}: ${KINDS[row.type].done}`} isGood />
        </td>
        <td>
          {row.updated !== undefined && (
            <Share value={row.updated.done} of={row.updated.of} word={`${row.name}: on the newest revision`} />
          )}
        </td>
        <td class="wide">
          {row.reason !== undefined && (
            <>
              <strong title={row.reason}>{titleOf(row.reason, undefined)}</strong>{" "}
              {row.since !== undefined && (
                <span class="dim">
                  <Ago time={row.since} />
                </span>
              )}
              <span class="dim message">{row.message}</span>
            </>
          )}
        </td>
        <td class="dim wide places" title={names.join(", ")}>
          {names.slice(0, MAX_CLUSTERS).join(", ")}
          {rest > 0 && ` +${rest}`}
        </td>
      </tr>
    );
  }
}

/** Until there is something to show; undefined: there is. */
export function Waiting() {
  const problem = trouble.value;
  if (!problem) return <p class="loading">Reading the hub ...</p>;
  return (
    <Empty title="The hub does not answer" isPage>
      <p>{problem.message}</p>
      <p>This page tries again by itself. Check on the command line:</p>
      <Command text="lockstep doctor" />
    </Empty>
  );
}

function NamespaceForm() {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    namespace.value = String(new FormData(event.currentTarget).get("namespace") ?? "").trim();
    sessionStorage.setItem("namespace", namespace.value);
    watch({ page: "applications" });
  };
  return (
    <form class="namespace" onSubmit={submit}>
      <label class="field">
        Only this namespace
        <input name="namespace" defaultValue={namespace.value} placeholder="all namespaces" />
      </label>
      <button type="submit">Show</button>
    </form>
  );
}

function Filters() {
  return (
    <div class="filters">
      <label class="field">
        Search
        <input
          id="search"
          type="search"
          placeholder="name, reason, cluster ( / )"
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
          {reasons.value.map((one) => (
            <option key={one} value={one}>
              {titleOf(one, undefined)}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Chips() {
  return (
    <fieldset class="chips" aria-label="Show only">
      {CHIPS.map(({ of, label, tone }) => (
        <button
          key={of}
          type="button"
          class={`chip ${counts.value[of] > 0 ? tone : ""}`}
          aria-pressed={standing.value === of}
          onClick={() => {
            standing.value = standing.value === of ? "" : of;
          }}
        >
          <b>{counts.value[of]}</b> {label}
        </button>
      ))}
    </fieldset>
  );
}

function Rows() {
  const rows = matching.value;
  const rest = rows.length - shownRows.value;
  return (
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
          {rows.slice(0, shownRows.value).map((row) => (
            <Row key={keyOf(row)} row={row} />
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="dim pad">No application matches. Remove a filter to see more.</p>}
      {rest > 0 && (
        <p class="more">
          <button
            type="button"
            onClick={() => {
              shownRows.value += PAGE_ROWS;
            }}
          >
            Show {Math.min(rest, PAGE_ROWS)} more of {rest}
          </button>
        </p>
      )}
    </section>
  );
}

export function Applications() {
  const data = overview.value;
  if (!data) return <Waiting />;
  const { applications, problems } = data;
  return (
    <>
      <div class="title-row">
        <div>
          <h1>Applications</h1>
          <p class="subtitle">{count(applications.length, "application")} that you may see</p>
        </div>
        <Filters />
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
          <p>It shows up here by itself.</p>
        </Empty>
      )}
      {applications.length > 0 && (
        <>
          <Chips />
          <Rows />
        </>
      )}
    </>
  );
}
