/** The plan ahead with its reasons, and what it changes in each cluster. */
import type { AheadView, PlanView } from "../../src/web/types.ts";
import { count, duration } from "../format.ts";
import { stepWords, titleOf } from "../titles.ts";

function Step({ event }: { event: AheadView }) {
  switch (event.kind) {
    case "step":
      return (
        <li>
          <span class="step-title">
            <strong>{event.cluster}</strong> {stepWords(event.step)}
            {event.instances.length > 0 && <span class="dim"> {event.instances.join(", ")}</span>}
          </span>
          <span class="dim">{event.why}</span>
          {event.expectedMs !== undefined && <span class="dim">about {duration(event.expectedMs)}</span>}
        </li>
      );
    case "remove":
      return (
        <li>
          <span class="step-title">
            <strong>{event.cluster}</strong> is removed
          </span>
          <span class="dim">{event.why}</span>
        </li>
      );
    case "otherwise":
      return (
        <li class="pause-step">
          <span class="dim">{event.message}</span>
        </li>
      );
    case "wait":
      return (
        <li class="pause-step">
          <span class="step-title">
            <strong>{titleOf(event.code, undefined)}</strong>: {duration(event.forMs)}{" "}
            <code class="dim">{event.code}</code>
          </span>
          <span class="dim">{event.message}</span>
        </li>
      );
    case "person":
      return (
        <li class="person-step">
          <span class="step-title">
            <strong>{titleOf(event.code, undefined)}</strong>: this needs a person <code class="dim">{event.code}</code>
          </span>
          <span class="dim">
            {event.message}. {event.remedy}
          </span>
        </li>
      );
  }
}

export function Plan({ plan: { ahead, blockedBy, problem, hidden } }: { plan: PlanView }) {
  if (problem !== undefined) return <p class="dim">There is no plan: {problem}</p>;
  return (
    <>
      {ahead.length === 0 && blockedBy.length === 0 && <p class="dim">Nothing is left to be done.</p>}
      {ahead.length > 0 && (
        <ol class="plan">
          {ahead.map((event, index) => (
            <Step key={`${index}${event.kind}`} event={event} />
          ))}
        </ol>
      )}
      {blockedBy.map(({ code, message, remedy }) => (
        <p key={code + message} class="blocked">
          It stops there: <strong>{titleOf(code, undefined)}</strong> <code>{code}</code>. {message}. {remedy}
        </p>
      ))}
      {hidden !== undefined && (
        <p class="dim">
          And {count(hidden, "more step or difference", "more steps and differences")}: see lockstep plan.
        </p>
      )}
    </>
  );
}

function lineClass(line: string): string {
  if (/^\s*\+/.test(line)) return "added";
  return /^\s*-/.test(line) ? "removed" : "";
}

export function Diffs({ plan: { diffs, diffsProblem } }: { plan: PlanView }) {
  return (
    <>
      {diffsProblem !== undefined && <p class="dim">It cannot be shown: {diffsProblem}</p>}
      {diffs.map(({ clusters, objects }) => (
        <details key={clusters.join()} open={diffs.length === 1}>
          <summary>{clusters.join(", ")}: now → then</summary>
          {objects.map(({ object, change, lines }) => (
            <div key={object} class="diff">
              <h3>
                {object}
                {change !== "changed" && ` (${change})`}
              </h3>
              {lines.length > 0 && (
                // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
                <pre tabIndex={0}>
                  {lines.map((line, index) => (
                    <span key={index} class={lineClass(line)}>
                      {line}
                      {"\n"}
                    </span>
                  ))}
                </pre>
              )}
            </div>
          ))}
        </details>
      ))}
    </>
  );
}
