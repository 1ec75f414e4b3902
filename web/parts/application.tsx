/** The page of one application. */
import type { ApplicationName, ApplicationView } from "../../src/web/types.ts";
import { count, duration, short } from "../format.ts";
import { application, nowMs } from "../state.ts";
import { Clusters } from "./clusters.tsx";
import { Card } from "./common.tsx";
import { History } from "./history.tsx";
import { NotYet } from "./not-yet.tsx";
import { Diffs, Plan } from "./plan.tsx";
import { Quorum } from "./quorum.tsx";
import { Replay } from "./replay.tsx";
import { Title } from "./title.tsx";
import { Wait } from "./wait.tsx";

function Rollout({ app }: { app: ApplicationView }) {
  const { rollout, updated, desired } = app;
  if (!rollout) {
    return (
      <p class="subtitle">
        {app.kind} · revision <code title={app.updateRevision}>{short(app.updateRevision)}</code> on {updated} of{" "}
        {count(desired, "instance")}
      </p>
    );
  }
  const soak = Date.parse(rollout.soakUntil ?? "");
  return (
    <p class="subtitle">
      {app.kind} · {rollout.type === "RollBack" ? "rolls back" : "rolls out"}{" "}
      <code title={rollout.from}>{short(rollout.from)}</code> → <code title={rollout.to}>{short(rollout.to)}</code> ·{" "}
      {updated} of {desired} updated
      {rollout.wave !== undefined && ` · wave ${rollout.wave} of ${rollout.waves}`}
      {Number.isFinite(soak) && ` · soaks for ${duration(soak - nowMs.value)} more`}
      {rollout.since !== undefined && ` · for ${duration(nowMs.value - Date.parse(rollout.since))}`}
    </p>
  );
}

export function Application({ at }: { at: ApplicationName }) {
  const app = application.value;
  if (!app) return <NotYet at={at} />;
  return (
    <>
      <Title app={app} isPaused={app.paused && app.rollout !== undefined}>
        <Rollout app={app} />
      </Title>
      <progress
        class="rollout-progress"
        aria-label="Updated instances"
        value={app.updated}
        max={Math.max(1, app.desired)}
      />
      <div class="grid top">
        <Card title="Quorum" id="quorum">
          <Quorum quorum={app.quorum} />
        </Card>
        <Wait of={app} />
      </div>
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
      <Card title={app.rollout ? "This rollout" : "The last rollout"} id="timeline">
        <Replay app={app} />
      </Card>
      <div class="grid">
        <Card title="What comes next" id="plan">
          <Plan app={app} />
        </Card>
        <Card title="History" id="history">
          <History app={app} target={app.updateRevision} />
        </Card>
      </div>
      {app.plan.diffs.length > 0 && (
        <Card title="What changes in each cluster" id="diff">
          <Diffs diffs={app.plan.diffs} />
        </Card>
      )}
    </>
  );
}
