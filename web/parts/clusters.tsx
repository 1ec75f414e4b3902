/** Clusters and their instances. */

import { useState } from "preact/hooks";
import type { ApplicationView, ClusterView, InstanceView } from "../../src/web/types.ts";
import { ago, count, short, toneOf } from "../format.ts";
import { nowMs } from "../state.ts";
import { Pill } from "./common.tsx";
import { LogDialog } from "./logs.tsx";

function stateOf({ ready, terminating, state, reason }: InstanceView): { word: string; class: string } {
  if (terminating) return { word: "terminating", class: "going" };
  if (state !== undefined) return { word: state.toLowerCase(), class: "going" };
  if (ready === undefined) return { word: "not reported", class: "unknown" };
  return ready ? { word: "ready", class: "ready" } : { word: reason ?? "not ready", class: "down" };
}

function Instance(props: { instance: InstanceView; target: string | undefined; openLog: (pod: string) => void }) {
  const { instance, target, openLog } = props;
  const { name, ordinal, leader, revision } = instance;
  const state = stateOf(instance);
  const isNew = revision !== undefined && revision === target;
  return (
    <li class={`instance ${state.class} ${isNew ? "new" : "old"}`}>
      <span class="ordinal" aria-hidden="true">
        {ordinal ?? "?"}
      </span>
      <span class="instance-words">
        <span class="name">
          {name}
          {leader && <span class="crown">★ leader</span>}
        </span>
        <span class="dim">
          <span class="state">{state.word}</span> · {revision === undefined ? "revision unknown" : short(revision)}
        </span>
      </span>
      {name !== "" && (
        <button type="button" class="quiet log-button" aria-label={`Log of ${name}`} onClick={() => openLog(name)}>
          Log
        </button>
      )}
    </li>
  );
}

function gateWords({ gate, turn }: ClusterView): string {
  if (gate === undefined) return "no grant yet";
  const its = turn === "Held" ? ", its turn" : turn === "Returning" ? ", returns its turn" : "";
  return `gate ${gate.toLowerCase()}${its}`;
}

/** A cluster that cannot be observed is not shown as settled, whatever it was: unknown is never healthy. */
function Standing({ phase, health }: Pick<ClusterView, "phase" | "health">) {
  if (phase !== "Settled" || health === "Healthy") return <Pill word={phase} />;
  return <Pill word={health} tone={health === "Unknown" ? "busy" : toneOf(health)} />;
}

function Cluster({
  cluster,
  namespace,
  target,
  isActive,
}: {
  cluster: ClusterView;
  namespace: string;
  target: string | undefined;
  isActive: boolean;
}) {
  const [pod, openLog] = useState<string | undefined>(undefined);
  const { name, phase, health, ready, replicas, revision, ordinals, instances, reason, message, since } = cluster;
  return (
    <li class={`cluster ${toneOf(phase)} ${isActive ? "active" : ""}`}>
      <div class="cluster-head">
        <h3>{name}</h3>
        <Standing phase={phase} health={health} />
      </div>
      <p class="cluster-facts">
        <strong>
          {ready ?? "?"}/{replicas} ready
        </strong>
        {health !== "Healthy" && cluster.isBusy ? (
          <span class="health busy">not healthy during its step</span>
        ) : (
          <span class={`health ${toneOf(health)}`}>{health.toLowerCase()}</span>
        )}
        <span>{gateWords(cluster)}</span>
        {ordinals !== "" && <span>ordinals {ordinals}</span>}
        <span title={revision}>{short(revision)}</span>
      </p>
      <ul class="instances" aria-label={`Instances in ${name}`}>
        {instances.map((instance) => (
          <Instance key={instance.name} instance={instance} target={target} openLog={openLog} />
        ))}
      </ul>
      {instances.length === 0 && <p class="dim">{count(replicas, "instance")}, not listed one by one.</p>}
      {reason !== undefined && (
        <p class="cluster-wait">
          <strong>{reason}</strong>
          {since !== undefined && ` for ${ago(since, nowMs.value)}`}: {message}
        </p>
      )}
      {pod !== undefined && (
        <LogDialog namespace={namespace} cluster={name} pod={pod} close={() => openLog(undefined)} />
      )}
    </li>
  );
}

export function Clusters({ app }: { app: ApplicationView }) {
  return (
    <>
      <ul class="clusters">
        {app.clusters.map((cluster) => (
          <Cluster
            key={cluster.name}
            cluster={cluster}
            namespace={app.namespace}
            target={app.updateRevision}
            isActive={cluster.isBusy}
          />
        ))}
      </ul>
      {app.clusters.length === 0 && <p class="dim">No cluster is chosen yet.</p>}
      <p class="instance-legend">
        <span>
          <i class="old" />
          old revision
        </span>
        <span>
          <i class="new" />
          new revision
        </span>
        <span>
          <i class="ok" />
          ready
        </span>
        <span>
          <i class="moving" />
          starting or stopping
        </span>
        <span>
          <i class="no" />
          not ready
        </span>
        <span>
          <i class="open" />
          not reported one by one
        </span>
      </p>
    </>
  );
}
