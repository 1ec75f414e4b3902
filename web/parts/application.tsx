/** The page of one application. */
import type { ApplicationView } from "../../src/web/types.ts";
import { count, duration, short } from "../format.ts";
import { application, nowMs, trouble } from "../state.ts";
import { Actions } from "./actions.tsx";
import { Clusters } from "./clusters.tsx";
import { Card, Command, Empty, Pill } from "./common.tsx";
import { History } from "./history.tsx";
import { Diffs, Plan } from "./plan.tsx";
import { Quorum } from "./quorum.tsx";
import { Timeline } from "./timeline.tsx";
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

export function Application({ namespace, name }: { namespace: string; name: string }) {
  const app = application.value;
  if (!app) {
    const problem = trouble.value;
    if (!problem)
      return (
        <p class="loading">
          Reading {namespace}/{name} ...
        </p>
      );
    return (
      <Empty title={problem.gone ? "There is nothing to show" : "The hub does not answer"}>
        <p>{problem.message}</p>
        <p>{problem.gone ? "See what there is:" : "This page tries again by itself. Check on the command line:"}</p>
        <Command text={problem.gone ? "lockstep status -A" : "lockstep doctor"} />
        <p>
          <a href="#/">All applications</a>
        </p>
      </Empty>
    );
  }
  return (
    <>
      <div class="title-row">
        <div>
          <h1>
            <span class="dim">{app.namespace} /</span> {app.name}{" "}
            <Pill word={app.paused && app.rollout ? "Paused" : app.phase} />
          </h1>
          <Rollout app={app} />
          {!app.isCurrent && <p class="dim">The controller has not processed the last edit yet.</p>}
          {app.rejectedRevision !== undefined && (
            <p class="dim">
              Revision <code>{short(app.rejectedRevision)}</code> failed or was undone. It is not tried again until the
              template changes.
            </p>
          )}
        </div>
        <Actions app={app} />
      </div>
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
        <Wait app={app} />
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
        <Timeline app={app} />
      </Card>
      <div class="grid">
        <Card title="What comes next" id="plan">
          <Plan app={app} />
        </Card>
        <Card title="History" id="history">
          <History app={app} />
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
