/** A rollout over time, with a slider to go back in it, and as one file for those who were not there. */
import { useEffect, useState } from "preact/hooks";
import { clockTime, count, dateTime, duration, short, took, words } from "../format.ts";
import { say } from "../state.ts";
import { momentWords, rangeOf, type Story } from "../story.ts";
import { waitOf } from "../titles.ts";
import { Change } from "./common.tsx";
import { Timeline } from "./timeline.tsx";

/** What a saved file has in it. */
export interface Saved {
  readonly story: Story;
}

const SAVED_ID = "saved-rollout";
const PLAY_STEPS = 100;
const PLAY_EVERY_MS = 80;

export function exported(): Saved | undefined {
  const text = document.getElementById(SAVED_ID)?.textContent;
  return text ? JSON.parse(text) : undefined;
}

export function Replay({ story, isFile = false }: { story: Story; isFile?: boolean }) {
  const [atMs, setAt] = useState<number | undefined>(undefined);
  const [isPlaying, play] = useState(false);
  const { fromMs, toMs } = rangeOf(story);
  useEffect(() => {
    if (!isPlaying) return undefined;
    const step = (toMs - fromMs) / PLAY_STEPS;
    const timer = setInterval(
      () =>
        setAt((at) => {
          const next = (at ?? fromMs) + step;
          if (next < toMs) return next;
          play(false);
          return undefined;
        }),
      PLAY_EVERY_MS,
    );
    return () => clearInterval(timer);
  }, [isPlaying, fromMs, toMs]);
  const begin = () => {
    setAt(atMs ?? fromMs);
    play(!isPlaying);
  };
  const hasSpans = story.timeline.spans.length > 0;
  return (
    <>
      <Timeline story={story} untilMs={atMs} />
      {hasSpans && (
        <div class="replay">
          <button type="button" onClick={begin}>
            {isPlaying ? "Stop" : "Replay"}
          </button>
          <input
            type="range"
            min={fromMs}
            max={toMs}
            step={Math.max(1, Math.round((toMs - fromMs) / 500))}
            value={atMs ?? toMs}
            aria-label="Moment of the rollout"
            aria-valuetext={clockTime(atMs ?? toMs)}
            onInput={(event) => {
              play(false);
              const at = Number(event.currentTarget.value);
              setAt(at >= toMs ? undefined : at);
            }}
          />
          {!isFile && (
            <button type="button" class="quiet" onClick={() => void save(story)}>
              Save as a file
            </button>
          )}
          {atMs !== undefined && (
            <p class="moment" role="status">
              <time>{clockTime(atMs)}</time>, {duration(atMs - fromMs)} after the start. {momentWords(story, atMs)}.
            </p>
          )}
        </div>
      )}
    </>
  );
}

/** One HTML file with the page's own script and style: it needs no server and makes no request. */
async function save(story: Story): Promise<void> {
  const read = async (path: string) => {
    const answer = await fetch(path);
    if (!answer.ok) throw new Error(`the server answered ${answer.status} for ${path}`);
    return answer.text();
  };
  try {
    const [script, style] = await Promise.all([read("/app.js"), read("/app.css")]);
    // What was planned is no part of what happened.
    const file = new Blob([fileOf({ story: { ...story, ahead: [] } }, script, style)], { type: "text/html" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    const { namespace, name, revision } = story;
    link.download = `${[namespace, name, ...(revision === undefined ? [] : [short(revision)])].join("-")}.html`;
    link.click();
    URL.revokeObjectURL(link.href);
    say(`Saved as ${link.download}`);
  } catch (error) {
    say(`The file could not be made: ${error instanceof Error ? error.message : error}`, true);
  }
}

/** Names and messages come from the cluster: nothing in them may end the element that they are in. */
function fileOf(saved: Saved, script: string, style: string): string {
  const data = JSON.stringify(saved).replaceAll("<", "\\u003c");
  const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>A rollout, saved by Lockstep</title>
<style>${style.replaceAll("</", "<\\/")}</style>
</head>
<body>
<div id="app"></div>
<noscript>This file draws a rollout with a script of its own. Allow scripts to see it.</noscript>
<script type="application/json" id="${SAVED_ID}">${data}</script>
<script type="module">${script.replaceAll("</", "<\\/")}</script>
</body>
</html>
`;
}

/** A pause between steps that is worth a line. */
const MIN_PAUSE_MS = 5_000;

/** The rollout from start to end, one line for each thing that happened. */
function StepByStep({ story: { timeline, opening, revision } }: { story: Story }) {
  const lines = [
    ...timeline.spans.map(({ cluster, what, why, fromMs, toMs }) => ({
      atMs: fromMs,
      endMs: toMs ?? fromMs,
      isWarning: false,
      isStep: true,
      title: `${cluster}: ${words(what).toLowerCase()}`,
      text: `${toMs === undefined ? "it still ran when this was saved" : `it took ${took(toMs - fromMs)}`}${why === "" ? "" : `; ${why}`}`,
    })),
    ...timeline.holds.map(({ cluster, reason, why, fromMs, toMs }) => ({
      atMs: fromMs,
      endMs: fromMs,
      isWarning: false,
      isStep: false,
      title: waitOf(reason, cluster === "" ? undefined : cluster),
      text: `${reason} ${toMs === undefined ? "still when this was saved" : `for ${took(toMs - fromMs)}`}; ${why}`,
    })),
    ...timeline.notes.map(({ atMs, reason, message, isWarning }) => ({
      atMs,
      endMs: atMs,
      isWarning,
      isStep: false,
      title: words(reason),
      text: message,
    })),
  ].sort((a, b) => a.atMs - b.atMs);
  let busyUntilMs = timeline.fromMs;
  return (
    <>
      <p class="sentence">
        {revision === undefined ? (
          "The work"
        ) : (
          <>
            The rollout of revision <code>{short(revision)}</code>
          </>
        )}{" "}
        began at {clockTime(timeline.fromMs)}. {opening}
      </p>
      <ol class="spans">
        {lines.map(({ atMs, endMs, isWarning, isStep, title, text }) => {
          const pausedMs = isStep ? atMs - busyUntilMs : 0;
          if (isStep) busyUntilMs = Math.max(busyUntilMs, endMs);
          return (
            <li key={`${atMs}${title}`} class={isWarning ? "warning" : ""}>
              {pausedMs > MIN_PAUSE_MS && <span class="dim">For {duration(pausedMs)} no step ran. </span>}
              <time>{clockTime(atMs)}</time> <strong>{title}</strong>, {text}
            </li>
          );
        })}
      </ol>
    </>
  );
}

/** What the saved file shows. */
export function ReplayPage({ saved: { story } }: { saved: Saved }) {
  const { namespace, name, about, revision, timeline, atMs, end, changes } = story;
  useEffect(() => {
    document.title = `${name}: a rollout, saved ${dateTime(new Date(atMs).toISOString())}`;
  }, []);
  const { fromMs, toMs } = rangeOf(story);
  const warnings = timeline.notes.filter(({ isWarning }) => isWarning).length;
  return (
    <main id="main">
      <div>
        <h1>
          <span class="dim">{namespace} /</span> {name}
        </h1>
        <p class="subtitle">
          <span>{about}</span>
          {revision !== undefined && (
            <span>
              revision <code>{short(revision)}</code>
            </span>
          )}
          <span>
            {dateTime(new Date(fromMs).toISOString())}, {duration(toMs - fromMs)}
          </span>
          <span>{warnings === 0 ? "no warning" : count(warnings, "warning")}</span>
        </p>
      </div>
      <section class="card" aria-labelledby="saved-title">
        <h2 id="saved-title">How it went</h2>
        <Replay story={story} isFile />
      </section>
      <section class="card" aria-labelledby="story-title">
        <h2 id="story-title">Step by step</h2>
        <StepByStep story={story} />
      </section>
      {end && (
        <section class="card" aria-labelledby="end-title">
          <h2 id="end-title">How it stood when this was saved</h2>
          <p class="sentence">{end.sentence}</p>
          <ul class="spans">
            {end.rows.map(([what, how]) => (
              <li key={what}>
                <strong>{what}</strong> {how}
              </li>
            ))}
          </ul>
        </section>
      )}
      {changes.length > 0 && (
        <section class="card" aria-labelledby="changes-title">
          <h2 id="changes-title">What the revision changed</h2>
          {changes.map((line) => (
            <Change key={line} line={line} />
          ))}
        </section>
      )}
    </main>
  );
}
