/** Revisions that the application can return to. */
import { useState } from "preact/hooks";
import type { ActionView, ApplicationName, RevisionView } from "../../src/web/types.ts";
import { ago, dateTime, short } from "../format.ts";
import { nowMs, session } from "../state.ts";
import { Confirm, nameOf } from "./actions.tsx";
import { Change } from "./common.tsx";

interface HistoryProps {
  readonly app: ApplicationName & {
    readonly history: readonly RevisionView[];
    readonly actions: readonly ActionView[];
  };
  readonly target: string | undefined;
}

export function History({ app, target }: HistoryProps) {
  const [chosen, choose] = useState<RevisionView | undefined>(undefined);
  const isReadOnly = session.value.kind !== "in" || session.value.readOnly;
  // Undo patches the same object as pause and resume: one of the two is always offered.
  const mayChange = app.actions.some(({ action, allowed }) => allowed && action !== "approve");
  if (app.history.length === 0) return <p class="dim">There is no revision yet.</p>;
  return (
    <>
      <ol class="history">
        {app.history.map((entry) => {
          const { revision, number, createdAt, cause, promoted, changes, state } = entry;
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
                {!isTarget && !isReadOnly && (
                  <button
                    type="button"
                    class="quiet"
                    disabled={!mayChange}
                    aria-label={`Return to it: revision ${number}`}
                    onClick={() => choose(entry)}
                  >
                    Return to it
                  </button>
                )}
              </div>
              <p class="dim" title={dateTime(createdAt)}>
                {ago(createdAt, nowMs.value)} ago{cause === undefined ? "" : `, ${cause}`}
                {promoted === undefined ? "" : `; promoted ${promoted}`}
              </p>
              {changes?.map((line) => (
                <Change key={line} line={line} />
              ))}
            </li>
          );
        })}
      </ol>
      {chosen && (
        <Confirm
          name={app.name}
          what={{ action: "undo", toRevision: chosen.revision, ...nameOf(app) }}
          consequence={`Returns to revision ${chosen.number} (${short(chosen.revision)}), cluster by cluster, in order. It stays there until the ${app.type === "ccs" ? "template itself is edited" : "source changes"}.`}
          command={`lockstep undo ${app.type === "ccs" ? "" : `${app.type}/`}${app.name} -n ${app.namespace} --to-revision ${chosen.number}`}
          close={() => choose(undefined)}
        />
      )}
    </>
  );
}
