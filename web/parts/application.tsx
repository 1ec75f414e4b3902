/** The page of one application. */
import type { ApplicationName, ApplicationView } from "../../src/web/types.ts";
import { count, duration, short } from "../format.ts";
import { application, nowMs } from "../state.ts";
import { statefulStory } from "../story.ts";
import { Clusters } from "./clusters.tsx";
import { Card, Change, FromTo } from "./common.tsx";
import { History } from "./history.tsx";
import { NotYet } from "./not-yet.tsx";
import { Diffs, Plan } from "./plan.tsx";
import { PodReports } from "./pod-reports.tsx";
import { Quorum } from "./quorum.tsx";
import { Ran } from "./ran.tsx";
import { RolloutCard } from "./rollout-card.tsx";
import { Title } from "./title.tsx";
import { Wait } from "./wait.tsx";

function Rollout({ app }: { app: ApplicationView }) {
  const { rollout, updated, desired } = app;
  const changes = app.history.find(({ revision }) => revision === app.updateRevision)?.changes ?? [];
  if (!rollout) {
    return (
      <p class="subtitle">
        <span>{app.kind}</span>
        <span>
          revision <code title={app.updateRevision}>{short(app.updateRevision)}</code>
        </span>
        <span>
          on {updated} of {count(desired, "instance")}
        </span>
      </p>
    );
  }
  const soak = Date.parse(rollout.soakUntil ?? "");
  return (
    <>
      {changes.length > 0 && rollout.type !== "RollBack" && (
        <div class="headline-change">
          <Change line={changes[0] ?? ""} />
          {changes.length > 1 && <span class="dim">and {count(changes.length - 1, "more change")}</span>}
        </div>
      )}
      <p class="subtitle">
        <span>{app.kind}</span>
        <span>
          <FromTo word={rollout.type === "RollBack" ? "rolls back" : "rolls out"} {...rollout} />
        </span>
        {rollout.wave !== undefined && rollout.waves > 0 && (
          <span>
            wave {rollout.wave} of {rollout.waves}
          </span>
        )}
        {Number.isFinite(soak) && <span>soaks for {duration(soak - nowMs.value)} more</span>}
        {rollout.since !== undefined && <span>for {duration(nowMs.value - Date.parse(rollout.since))}</span>}
      </p>
    </>
  );
}

/** More segments than can be told apart become a bar. */
const MAX_SEGMENTS = 60;

function Progress({ updated, desired }: { updated: number; desired: number }) {
  if (desired > MAX_SEGMENTS || desired === 0) {
    return (
      <progress class="rollout-progress" aria-label="Updated instances" value={updated} max={Math.max(1, desired)} />
    );
  }
  return (
    <div class="segments" role="img" aria-label={`${updated} of ${desired} instances run the revision`}>
      {Array.from({ length: desired }, (_, index) => (
        <span key={index} class={index < updated ? "on" : ""} />
      ))}
    </div>
  );
}

/** Nothing is read of a cluster that cannot be reached. */
function hasPodsToRead({ clusters, why }: ApplicationView): boolean {
  return why.reason !== undefined && clusters.some(({ ready, replicas }) => ready !== undefined && ready < replicas);
}

function hasFailingPods({ clusters }: ApplicationView): boolean {
  return clusters.some(({ instances }) =>
    instances.some(({ ready, reason }) => ready === false && reason !== undefined),
  );
}

function podsOf({ why, clusters }: ApplicationView): string {
  return [why.reason, why.cluster, ...clusters.map(({ ready, replicas }) => `${ready}/${replicas}`)].join();
}

export function Application({ at }: { at: ApplicationName }) {
  const app = application.value;
  if (!app) return <NotYet at={at} />;
  return (
    <>
      <Title app={app} isPaused={app.paused && app.rollout !== undefined}>
        <Rollout app={app} />
      </Title>
      <Progress updated={app.updated} desired={app.desired} />
      <div class="grid top">
        <Wait of={app} hasFailing={hasFailingPods(app)}>
          {app.why.reason === undefined && <Ran timeline={app.timeline} />}
          {hasPodsToRead(app) && <PodReports of={app} change={podsOf(app)} />}
        </Wait>
        <Card title="Quorum" id="quorum">
          <Quorum quorum={app.quorum} clusters={app.clusters} />
        </Card>
      </div>
      <RolloutCard
        story={statefulStory(app)}
        title={app.rollout ? "This rollout" : "The last rollout"}
        history={app.history}
        aside={
          <span class="dim">
            {app.updated} of {count(app.desired, "instance")} updated
          </span>
        }
      />
      <Card
        title="Clusters"
        id="clusters"
        aside={
          <span class="dim">
            {app.leader
              ? `leader ${app.leader.instance ?? ""} in ${app.leader.cluster}`
              : `${count(app.clusters.length, "cluster")}, no leader known`}
          </span>
        }
      >
        <Clusters app={app} />
      </Card>
      <div class="grid">
        <Card title="What comes next" id="plan">
          <Plan plan={app.plan} />
        </Card>
        <Card title="History" id="history">
          <History app={app} target={app.updateRevision} />
        </Card>
      </div>
      {app.plan.diffs.length > 0 && (
        <Card title="What changes in each cluster" id="diff">
          <Diffs plan={app.plan} />
        </Card>
      )}
    </>
  );
}
