/** Revisions that the application can return to. */
import type { ActionView, ApplicationName, RevisionView, Seen } from "../../src/web/types.ts";
import { ago, dateTime, short } from "../format.ts";
import { isStale, nowMs, session } from "../state.ts";
import { ask, nameOf } from "./actions.tsx";
import { Change } from "./common.tsx";
import { showRollout } from "./rollout-card.tsx";

interface HistoryProps {
  readonly app: ApplicationName & {
    readonly history: readonly RevisionView[];
    readonly actions: readonly ActionView[];
    readonly seen: Seen;
  };
  readonly target: string | undefined;
}

export function History({ app, target }: HistoryProps) {
  const isReadOnly = session.value.kind !== "in" || session.value.readOnly;
  // Undo patches the same object as pause and resume: one of the two is always offered.
  const mayChange = app.actions.some(({ action, allowed }) => allowed && action !== "approve");
  const returnTo = ({ revision, number }: RevisionView) =>
    ask({
      name: app.name,
      what: { action: "undo", toRevision: revision, ...nameOf(app), seen: app.seen },
      consequence: `Returns to revision ${number} (${short(revision)}), cluster by cluster, in order. It stays there until the ${app.type === "ccs" ? "template itself is edited" : "source changes"}.`,
      command: `lockstep undo ${app.type === "ccs" ? "" : `${app.type}/`}${app.name} -n ${app.namespace} --to-revision ${revision}`,
    });
  if (app.history.length === 0) return <p class="dim">There is no revision yet.</p>;
  return (
    <ol class="history">
      {app.history.map((entry) => {
        const { revision, number, createdAt, cause, promoted, changes, state, hasRecord } = entry;
        const isTarget = revision === target;
        return (
          <li key={revision} class={isTarget ? "current" : ""}>
            <div class="history-head">
              <span>
                <strong>{number}</strong> <code title={revision}>{short(revision)}</code>
                {state.map((word) => (
                  <span key={word} class={`tag ${word === "rejected" ? "bad" : "good"}`}>
                    {word}
                  </span>
                ))}
              </span>
              <span class="buttons">
                {!isTarget && hasRecord && (
                  <button
                    type="button"
                    class="quiet"
                    aria-label={`See its rollout: revision ${number}`}
                    onClick={() => void showRollout(nameOf(app), entry)}
                  >
                    See its rollout
                  </button>
                )}
                {!isTarget && !isReadOnly && (
                  <button
                    type="button"
                    class="quiet"
                    disabled={!mayChange || isStale.value}
                    aria-label={`Return to it: revision ${number}`}
                    onClick={() => returnTo(entry)}
                  >
                    Return to it
                  </button>
                )}
              </span>
            </div>
            <p class="dim" title={dateTime(createdAt)}>
              {[
                ...(createdAt === undefined ? [] : [`${ago(createdAt, nowMs.value)} ago`]),
                ...(cause === undefined ? [] : [cause]),
                ...(promoted === undefined ? [] : [`promoted ${promoted}`]),
              ].join("; ")}
            </p>
            {changes?.map((line) => (
              <Change key={line} line={line} />
            ))}
          </li>
        );
      })}
    </ol>
  );
}
