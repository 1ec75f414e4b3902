/** The page of one DistributedApplication: its clusters, and its objects with their health. */
import { useState } from "preact/hooks";
import type { ApplicationName, DistributionView, ObjectView, PartView, WorkloadView } from "../../src/web/types.ts";
import { ago, count, dateTime, duration, short, toneOf } from "../format.ts";
import { distribution, nowMs } from "../state.ts";
import { distributionStory } from "../story.ts";
import { Card, FromTo, Pill } from "./common.tsx";
import { Gauge } from "./gauge.tsx";
import { Happened } from "./happened.tsx";
import { History } from "./history.tsx";
import { PodList } from "./logs.tsx";
import { NotYet } from "./not-yet.tsx";
import { Diffs, Plan } from "./plan.tsx";
import { PodReports } from "./pod-reports.tsx";
import { Ran } from "./ran.tsx";
import { RolloutCard } from "./rollout-card.tsx";
import { Title } from "./title.tsx";
import { Wait } from "./wait.tsx";

function Subtitle({ app }: { app: DistributionView }) {
  const { rollout, source, revision, expiresAt } = app;
  return (
    <p class="subtitle">
      <span>{source}</span>
      {rollout ? (
        <span>
          <FromTo word={app.phase === "RollingBack" ? "rolls back" : "rolls out"} {...rollout} />
        </span>
      ) : (
        <span>
          revision <code title={revision}>{short(revision)}</code>
        </span>
      )}
      {rollout?.wave !== undefined && rollout.waves > 0 && (
        <span>
          wave {rollout.wave} of {rollout.waves}
        </span>
      )}
      {rollout?.since !== undefined && <span>for {duration(nowMs.value - Date.parse(rollout.since))}</span>}
      {expiresAt !== undefined && <span>ends by itself at {dateTime(expiresAt)}</span>}
    </p>
  );
}

function Part({ part, target }: { part: PartView; target: string | undefined }) {
  const { name, phase, deployed, stage, objects, ready, reason, message, since } = part;
  const tone = toneOf(phase);
  return (
    <li class={`cluster ${tone} ${tone === "busy" ? "active" : ""}`}>
      <div class="cluster-head">
        <h3>{name}</h3>
        <Pill word={phase} />
      </div>
      <progress
        class="rollout-progress"
        aria-label={`Healthy objects in ${name}`}
        value={ready}
        max={Math.max(1, objects)}
      />
      <p class="cluster-facts">
        <strong>
          {ready}/{objects} healthy
        </strong>
        <span title={deployed}>
          {deployed === undefined
            ? "nothing deployed yet"
            : deployed === target
              ? "up to date"
              : `still ${short(deployed)}`}
        </span>
        {stage !== undefined && <span>{stage}</span>}
      </p>
      {reason !== undefined && (
        <p class="cluster-wait">
          <strong>{reason}</strong>
          {since !== undefined && ` for ${ago(since, nowMs.value)}`}: {message}
        </p>
      )}
    </li>
  );
}

/** By namespace and kind, the unhealthy ones first in each. */
function groupsOf(objects: readonly ObjectView[]): [string, [string, ObjectView[]][]][] {
  const spaces = new Map<string, Map<string, ObjectView[]>>();
  for (const one of objects) {
    const space = one.namespace ?? "";
    const kinds = spaces.get(space) ?? new Map<string, ObjectView[]>();
    spaces.set(space, kinds);
    kinds.set(one.kind, [...(kinds.get(one.kind) ?? []), one]);
  }
  return [...spaces].map(([space, kinds]) => [space, [...kinds]]);
}

function ObjectTree({ objects, clusters }: { objects: readonly ObjectView[]; clusters: number }) {
  const [onlyBad, setOnlyBad] = useState(false);
  const bad = objects.filter(({ health }) => health !== "Healthy").length;
  const shown = onlyBad ? objects.filter(({ health }) => health !== "Healthy") : objects;
  if (objects.length === 0) return <p class="dim">The status does not list them: there are none, or too many.</p>;
  return (
    <>
      <label class="check">
        <input type="checkbox" checked={onlyBad} onChange={(event) => setOnlyBad(event.currentTarget.checked)} /> Only
        what is not healthy ({bad})
      </label>
      <ul class="tree">
        {groupsOf(shown).map(([space, kinds]) => (
          <li key={space}>
            <h3>{space === "" ? "Of the whole cluster" : `Namespace ${space}`}</h3>
            <ul>
              {kinds.map(([kind, members]) => (
                <li key={kind} class="tree-kind">
                  <span class="dim">{kind}</span>
                  <ul>
                    {members.map(({ name, health, message, clusters: holding }) => (
                      <li key={name} class="tree-object">
                        <strong>{name}</strong> <Pill word={health} tone={toneOf(health)} />
                        <span class="dim">
                          {" "}
                          in {holding} of {count(clusters, "cluster")}
                        </span>
                        {message !== undefined && <p class="cluster-wait">{message}</p>}
                      </li>
                    ))}
                  </ul>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p class="dim">Everything is healthy.</p>}
    </>
  );
}

function Workload({ workload }: { workload: WorkloadView }) {
  const { kind, name, namespace, total, ready, clusters } = workload;
  return (
    <div class="workload">
      <h3>
        {kind} {name} <span class="dim">{`${ready} of ${total} replicas ready`}</span>
      </h3>
      <ul class="load">
        {clusters.map((one) => (
          <li key={one.name}>
            <span>{one.name}</span>
            <meter
              min={0}
              max={Math.max(1, one.replicas)}
              value={one.ready}
              aria-label={`Ready replicas in ${one.name}`}
            />
            <span class="dim">
              {one.ready}/{one.replicas}
              {one.lent > 0 && `, ${one.lent} for another cluster`}
            </span>
            {namespace !== undefined && (
              <span class="pods">
                <PodList of={{ namespace, cluster: one.name, kind, name }} gone="It has no pods here." />
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Done({ app, done }: { app: DistributionView; done: number }) {
  const { clusters } = app;
  const objects = clusters.reduce((sum, one) => sum + one.objects, 0);
  const healthy = clusters.reduce((sum, one) => sum + one.ready, 0);
  const failed = clusters.filter(({ phase }) => toneOf(phase) === "bad").length;
  return (
    <div class="quorum">
      <Gauge
        value={done}
        of={clusters.length}
        word="up to date"
        label={`${done} of ${clusters.length} clusters have this revision`}
        tone={failed > 0 ? "bad" : "good"}
      />
      <dl class="figures">
        <div>
          <dt>healthy objects</dt>
          <dd>{healthy}</dd>
        </div>
        <div>
          <dt>not healthy</dt>
          <dd>{objects - healthy}</dd>
        </div>
        <div>
          <dt>failed clusters</dt>
          <dd>{failed}</dd>
        </div>
      </dl>
    </div>
  );
}

/** Nothing runs where nothing is deployed yet. */
function hasPodsToRead({ why, clusters }: DistributionView): boolean {
  return why.reason !== undefined && clusters.some(({ ready, objects }) => ready < objects);
}

function podsOf({ why, clusters }: DistributionView): string {
  return [why.reason, why.cluster, ...clusters.map(({ ready, objects }) => `${ready}/${objects}`)].join();
}

export function Distribution({ at }: { at: ApplicationName }) {
  const app = distribution.value;
  if (!app) return <NotYet at={at} />;
  const done = app.clusters.filter(({ deployed }) => deployed !== undefined && deployed === app.revision).length;
  return (
    <>
      <Title app={app} isPaused={app.paused && app.rollout !== undefined}>
        <Subtitle app={app} />
      </Title>
      <div class="grid top">
        <Wait of={app} hasFailing={app.objects.some(({ health }) => health === "Unhealthy")}>
          {app.why.reason === undefined && <Ran timeline={app.timeline} />}
          {hasPodsToRead(app) && <PodReports of={app} change={podsOf(app)} />}
        </Wait>
        <Card title="Clusters done" id="done">
          <Done app={app} done={done} />
        </Card>
      </div>
      <RolloutCard
        story={distributionStory(app)}
        title={app.rollout ? "This rollout" : "The last rollout"}
        history={app.history}
        aside={<span class="dim">{`${done} of ${count(app.clusters.length, "cluster")} done`}</span>}
      />
      <Card
        title="Clusters"
        id="clusters"
        aside={<span class="dim">{`${done} of ${app.clusters.length} on this revision`}</span>}
      >
        <ul class="clusters">
          {app.clusters.map((part) => (
            <Part key={part.name} part={part} target={app.revision} />
          ))}
        </ul>
        {app.clusters.length === 0 && <p class="dim">No cluster is chosen yet.</p>}
      </Card>
      {app.workloads.length > 0 && (
        <Card title="Workloads" id="workloads">
          {app.workloads.map((workload) => (
            <Workload key={`${workload.kind}/${workload.name}`} workload={workload} />
          ))}
        </Card>
      )}
      <Card
        title="Objects"
        id="objects"
        aside={<span class="dim">{count(app.objects.length, "object")} in each cluster</span>}
      >
        <ObjectTree objects={app.objects} clusters={app.clusters.length} />
      </Card>
      <div class="grid">
        <Card title="What comes next" id="plan">
          <Plan plan={app.plan} />
        </Card>
        <Card title="History" id="history">
          <History app={app} target={app.revision} />
        </Card>
      </div>
      {(app.plan.diffs.length > 0 || app.plan.diffsProblem !== undefined) && (
        <Card title="What changes in each cluster" id="diff">
          <Diffs plan={app.plan} />
        </Card>
      )}
      <Card title="What happened" id="happened">
        <Happened happened={app.happened} />
      </Card>
    </>
  );
}
