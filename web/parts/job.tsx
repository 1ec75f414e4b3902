/** The page of one CrossClusterJob: what is done, and every attempt. */
import type { ApplicationName, JobView } from "../../src/web/types.ts";
import { ago, clockTime, count, duration, took, words } from "../format.ts";
import { ranOf } from "../ran.ts";
import { job, nowMs } from "../state.ts";
import { jobStory } from "../story.ts";
import { Card, Pill } from "./common.tsx";
import { Gauge } from "./gauge.tsx";
import { Happened } from "./happened.tsx";
import { PodList } from "./logs.tsx";
import { NotYet } from "./not-yet.tsx";
import { Plan } from "./plan.tsx";
import { PodReports } from "./pod-reports.tsx";
import { Ran } from "./ran.tsx";
import { Replay } from "./replay.tsx";
import { Title } from "./title.tsx";
import { Wait } from "./wait.tsx";

const GUARANTEES: Readonly<Record<string, string>> = {
  Wait: "continues elsewhere only when an attempt is known to be over",
  Exclusive: "never two attempts at once: a cluster that is cut off ends its own work",
  AtLeastOnce: "continues elsewhere at once, and may run twice",
};

/** Squares for as many indexes as a person can count; a bar for more. */
const MAX_SQUARES = 400;

function Done({ app }: { app: JobView }) {
  const { completions, succeeded, active, failed, done } = app;
  const isDone = (index: number) => done.some(([first, last]) => first <= index && index <= last);
  const hasSquares = done.length > 0 && completions !== undefined && completions <= MAX_SQUARES;
  return (
    <div class="quorum">
      {completions !== undefined && (
        <Gauge
          value={succeeded}
          of={completions}
          word="done"
          label={`${succeeded} of ${completions} completions are done`}
          tone={app.phase === "Failed" ? "bad" : "good"}
        />
      )}
      <dl class="figures">
        <div>
          <dt>pods run</dt>
          <dd>{active}</dd>
        </div>
        <div>
          <dt>pods failed</dt>
          <dd>{failed}</dd>
        </div>
        <div>
          <dt>attempts</dt>
          <dd>{app.attempts.length}</dd>
        </div>
      </dl>
      {hasSquares && (
        <div class="squares" role="img" aria-label={`${succeeded} of ${completions} indexes are done`}>
          {Array.from({ length: completions }, (_, index) => (
            <span key={index} class={isDone(index) ? "on" : ""} title={`index ${index}`} />
          ))}
        </div>
      )}
      <p class="dim guarantee">
        Guarantee {app.guarantee}: {GUARANTEES[app.guarantee] ?? ""}.
      </p>
    </div>
  );
}

function Attempts({ app }: { app: JobView }) {
  const { attempts } = app;
  if (attempts.length === 0) return <p class="dim">No attempt yet.</p>;
  return (
    <>
      <Replay story={jobStory(app)} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it */}
      <section class="table-wrap flat" tabIndex={0} aria-label="Attempts as a table">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">Attempt</th>
              <th scope="col">Cluster</th>
              <th scope="col">State</th>
              <th scope="col">Work</th>
              <th scope="col">Time</th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {attempts.toReversed().map((attempt) => (
              <tr key={attempt.number}>
                <th scope="row">{attempt.number}</th>
                <td>{attempt.cluster}</td>
                <td>
                  <Pill word={attempt.state} />
                </td>
                <td class="work">{attempt.work}</td>
                <td class="number">
                  {attempt.fromMs === undefined
                    ? ""
                    : duration((attempt.toMs ?? Math.max(nowMs.value, app.atMs)) - attempt.fromMs)}
                </td>
                <td>
                  {attempt.reason !== undefined && <strong>{words(attempt.reason)}</strong>}
                  <span class="dim message">{attempt.message}</span>
                  {attempt.mayRunTwice !== undefined && <span class="cluster-wait">{attempt.mayRunTwice}</span>}
                  {attempt.deadlineMs !== undefined && attempt.toMs === undefined && (
                    <span class="dim message">
                      its cluster ends it at {clockTime(attempt.deadlineMs)} unless it is extended
                    </span>
                  )}
                  {attempt.object !== undefined && (
                    <PodList
                      of={{
                        namespace: app.namespace,
                        cluster: attempt.cluster,
                        kind: app.kind,
                        group: app.group,
                        name: attempt.object,
                      }}
                      gone="Its pods are gone. With spec.memberCleanup AfterTTL or Never they are kept after its end."
                    />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

/** While it runs, pods may fail that the work can still do without: that is no wait, and worth knowing. */
function hasPodsToRead({ phase, failed, attempts, why }: JobView): boolean {
  return phase !== "Complete" && attempts.length > 0 && (why.reason !== undefined || failed > 0);
}

function podsOf({ why, failed, attempts }: JobView): string {
  return [why.reason, failed, ...attempts.map(({ state }) => state)].join();
}

export function Job({ at }: { at: ApplicationName }) {
  const app = job.value;
  if (!app) return <NotYet at={at} />;
  const ran = ranOf(app.timeline);
  return (
    <>
      <Title app={app}>
        <p class="subtitle">
          <span>{app.kind}</span>
          <span>{count(app.attempts.length, "attempt")}</span>
          {app.startTime !== undefined && (
            <span>
              {app.phase === "Failed" && ran
                ? `failed ${duration(nowMs.value - ran.endedMs)} ago, after ${took(ran.tookMs)}`
                : app.completionTime === undefined
                  ? `started ${ago(app.startTime, nowMs.value)} ago`
                  : `took ${took(Date.parse(app.completionTime) - Date.parse(app.startTime))}`}
            </span>
          )}
        </p>
      </Title>
      <div class="grid top">
        <Wait of={app} hasFailing={app.failed > 0}>
          {app.why.reason === undefined && <Ran timeline={app.timeline} noun="attempt" />}
          {hasPodsToRead(app) && <PodReports of={app} change={podsOf(app)} />}
        </Wait>
        <Card title="Done" id="done">
          <Done app={app} />
        </Card>
      </div>
      <Card title="Attempts" id="attempts">
        <Attempts app={app} />
      </Card>
      <div class="grid">
        <Card title="What comes next" id="plan">
          <Plan plan={app.plan} />
        </Card>
        <Card title="What happened" id="happened">
          <Happened happened={app.happened} />
        </Card>
      </div>
    </>
  );
}
