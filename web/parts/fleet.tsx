/** The fleet: what each cluster has, and what runs there. */
import { useState } from "preact/hooks";
import type { FleetCluster, LoadView } from "../../src/web/types.ts";
import { ago, count } from "../format.ts";
import { addressOf, nowMs, overview, session } from "../state.ts";
import { Confirm } from "./actions.tsx";
import { Command, Empty, Pill } from "./common.tsx";
import { KINDS, Waiting } from "./overview.tsx";

/** More than a person reads in one card; the list finds the rest. */
const MAX_LISTED = 8;

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

function FleetCard({ cluster, mayDrain }: { cluster: FleetCluster; mayDrain: boolean }) {
  const { name, health, message, since, version, region, nodes, load, taints, draining, applications } = cluster;
  const [isAsking, ask] = useState(false);
  const action = draining ? "undrain" : "drain";
  return (
    <li class={`cluster ${health === "Ready" ? "" : "bad"}`}>
      <div class="cluster-head">
        <h2>{name}</h2>
        <Pill word={health} />
      </div>
      <p class="cluster-facts">
        <strong>{count(applications.length, "application")}</strong>
        {version !== undefined && <span>{version}</span>}
        {region !== undefined && <span>{region}</span>}
        {nodes !== undefined && <span>{count(nodes, "node")}</span>}
        {since !== undefined && <span>for {ago(since, nowMs.value)}</span>}
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
      {applications.length === 0 ? (
        <p class="dim">Nothing that you may see runs here.</p>
      ) : (
        <ul class="runs">
          {applications.slice(0, MAX_LISTED).map((one) => (
            <li key={`${one.type}/${one.namespace}/${one.name}`}>
              <a href={addressOf({ page: "application", type: one.type, namespace: one.namespace, name: one.name })}>
                {one.namespace}/{one.name}
              </a>
              <span class="dim"> {count(one.count, KINDS[one.type].counts)}</span>
            </li>
          ))}
          {applications.length > MAX_LISTED && <li class="dim">and {applications.length - MAX_LISTED} more</li>}
        </ul>
      )}
      {mayDrain && (
        <div class="buttons">
          <button
            type="button"
            class="quiet"
            aria-label={`${draining ? "End the maintenance" : "Drain for maintenance"}: ${name}`}
            onClick={() => ask(true)}
          >
            {draining ? "End the maintenance" : "Drain for maintenance"}
          </button>
        </div>
      )}
      {isAsking && (
        <Confirm
          name={name}
          what={{ action, cluster: name }}
          consequence={
            draining
              ? "Steps that wait for this cluster start at once."
              : "Leaders move to other clusters, and no step starts here until it is undrained. Every instance stays and keeps its vote."
          }
          command={`lockstep ${action} ${name}`}
          close={() => ask(false)}
        />
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
          <FleetCard key={cluster.name} cluster={cluster} mayDrain={mayDrain === true && !isReadOnly} />
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
