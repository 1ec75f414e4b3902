/** The fleet: what each cluster has, and what runs there. */
import { computed, signal } from "@preact/signals";
import type { FleetCluster, LoadView } from "../../src/web/types.ts";
import { count, words } from "../format.ts";
import { fleetInOrder, inOrder, keyOf, type Runs, runsByCluster } from "../overview.ts";
import { addressOf, isStale, overview, session } from "../state.ts";
import { ask } from "./actions.tsx";
import { Ago, Command, Empty, Pill } from "./common.tsx";
import { KINDS, Waiting } from "./overview.tsx";

/** More than a person reads in one card; the list finds the rest. */
const MAX_LISTED = 8;
const search = signal("");

const ordered = computed(() => fleetInOrder(overview.value?.clusters ?? []));
/** What needs a person comes first in each cluster, too. */
const running = computed(() => runsByCluster(inOrder(overview.value?.applications ?? [])));

function matches({ name, health, version = "", region = "", taints, draining }: FleetCluster): boolean {
  const text = search.value.trim().toLowerCase();
  if (text === "") return true;
  const parts = [name, health, version, region, draining ? "draining" : "", ...taints];
  return parts.some((part) => part.toLowerCase().includes(text));
}

function Load({ load: { resource, used, of, text } }: { load: LoadView }) {
  return (
    <li>
      <span class="dim">{resource}</span>
      {used === undefined ? (
        <span />
      ) : (
        <meter min={0} max={of} high={of * 0.85} value={used} aria-label={`${resource} requested`} />
      )}
      <span>{text}</span>
    </li>
  );
}

interface FleetCardProps {
  readonly cluster: FleetCluster;
  readonly runs: readonly Runs[];
  readonly mayDrain: boolean;
}

function FleetCard({ cluster, runs, mayDrain }: FleetCardProps) {
  const { name, health, message, since, version, region, nodes, load, taints, draining } = cluster;
  const action = draining ? "undrain" : "drain";
  const change = () =>
    ask({
      name,
      what: { action, cluster: name, uid: cluster.uid },
      consequence: draining
        ? "Steps that wait for this cluster start at once."
        : "Leaders move to other clusters, and no step starts here until it is undrained. Every instance stays and keeps its vote.",
      command: `lockstep ${action} ${name}`,
    });
  return (
    <li class={`cluster ${health === "Ready" ? "" : "bad"}`}>
      <div class="cluster-head">
        <h2>{name}</h2>
        <Pill word={health} />
      </div>
      <p class="cluster-facts">
        <strong>{count(runs.length, "application")}</strong>
        {version !== undefined && <span>{version}</span>}
        {region !== undefined && <span>{region}</span>}
        {nodes !== undefined && <span>{count(nodes, "node")}</span>}
        {since !== undefined && (
          <span>
            {words(health).toLowerCase()} for <Ago time={since} />
          </span>
        )}
      </p>
      {message !== undefined && <p class="cluster-wait">{message}</p>}
      {draining && <p class="cluster-wait">It is drained for maintenance: no step starts there.</p>}
      {load.length > 0 && (
        <ul class="load">
          {load.map((one) => (
            <Load key={one.resource} load={one} />
          ))}
        </ul>
      )}
      {taints.length > 0 && <p class="dim">Taints: {taints.join(", ")}</p>}
      {runs.length === 0 ? (
        <p class="dim">Nothing that you may see runs here.</p>
      ) : (
        <ul class="runs">
          {runs.slice(0, MAX_LISTED).map(({ row: { type, namespace, name: of, needsPerson }, count: many }) => (
            <li key={keyOf({ type, namespace, name: of })}>
              <a href={addressOf({ page: "application", type, namespace, name: of })}>
                {namespace}/{of}
              </a>
              <span class="dim"> {count(many, KINDS[type].counts)}</span>
              {needsPerson && <span class="tag bad">needs a person</span>}
            </li>
          ))}
          {runs.length > MAX_LISTED && <li class="dim">and {runs.length - MAX_LISTED} more</li>}
        </ul>
      )}
      {mayDrain && (
        <div class="buttons">
          <button
            type="button"
            aria-label={`${draining ? "End the maintenance" : "Drain for maintenance"}: ${name}`}
            disabled={isStale.value}
            onClick={change}
          >
            {draining ? "End the maintenance" : "Drain for maintenance"}
          </button>
        </div>
      )}
    </li>
  );
}

export function Fleet() {
  const data = overview.value;
  if (!data) return <Waiting />;
  const { clusters, problems, mayDrain } = data;
  const isReadOnly = session.value.kind !== "in" || session.value.readOnly;
  const ready = clusters.filter(({ health }) => health === "Ready").length;
  const draining = clusters.filter((one) => one.draining).length;
  const shown = ordered.value.filter(matches);
  return (
    <>
      <div class="title-row">
        <div>
          <h1>Fleet</h1>
          <p class="subtitle">
            <span>{count(clusters.length, "cluster")}</span>
            <span>{ready} ready</span>
            {draining > 0 && <span>{draining} drained for maintenance</span>}
          </p>
        </div>
        <div class="filters">
          <label class="field">
            Search
            <input
              id="search"
              type="search"
              placeholder="name, version, region, taint ( / )"
              value={search.value}
              onInput={(event) => {
                search.value = event.currentTarget.value;
              }}
            />
          </label>
        </div>
      </div>
      {problems.map((problem) => (
        <p key={problem} class="problem">
          {problem}
        </p>
      ))}
      <ul class="clusters fleet">
        {shown.map((cluster) => (
          <FleetCard
            key={cluster.name}
            cluster={cluster}
            runs={running.value.get(cluster.name) ?? []}
            mayDrain={mayDrain === true && !isReadOnly}
          />
        ))}
      </ul>
      {shown.length === 0 && clusters.length > 0 && <p class="dim">No cluster matches.</p>}
      {clusters.length === 0 && problems.length === 0 && (
        <Empty title="No cluster has joined">
          <p>Applications are deployed when a member cluster joins this hub.</p>
          <Command text="kubectl get clusters" />
        </Empty>
      )}
    </>
  );
}
