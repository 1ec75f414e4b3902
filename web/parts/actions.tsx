/** What the viewer may do now. Every action is confirmed in a dialog that says what happens. */
import { effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type {
  Act,
  ActionName,
  ActionView,
  ApplicationName,
  ClusterAct,
  ClusterActionName,
  Seen,
} from "../../src/web/types.ts";
import { act } from "../api.ts";
import { isStale, say, session } from "../state.ts";
import { Command } from "./common.tsx";

const LABELS: Record<ActionName | ClusterActionName, string> = {
  pause: "Pause",
  resume: "Resume",
  approve: "Approve",
  promote: "Promote",
  abort: "Abort",
  undo: "Undo",
  retry: "Retry",
  drain: "Drain",
  undrain: "Undrain",
};

/** What a dialog asks: as it was when it was opened. What is shown behind it goes on, and does not change it. */
export interface Asked {
  /** Of the application or the cluster. */
  readonly name: string;
  readonly what: Act | ClusterAct;
  readonly consequence: string;
  readonly command: string;
}

const asked = signal<Asked | undefined>(undefined);

// What one person was asked is not asked of the next one.
effect(() => {
  if (session.value.kind !== "in") asked.value = undefined;
});

export function ask(question: Asked): void {
  asked.value = question;
}

const STALE = "What you see is old. It can be used again when this page is up to date.";

interface ActionButtonProps {
  readonly app: ApplicationName & { readonly seen: Seen };
  readonly action: ActionView;
  readonly isPrimary?: boolean;
}

export function ActionButton({ app, action, isPrimary = false }: ActionButtonProps) {
  if (session.value.kind !== "in" || session.value.readOnly) return null;
  const { consequence, command, allowed, reason } = action;
  const look = isPrimary ? "primary" : action.action === "abort" ? "danger" : "";
  return (
    <button
      type="button"
      class={look}
      disabled={!allowed || isStale.value}
      title={isStale.value ? STALE : reason}
      onClick={() => ask({ name: app.name, what: whatOf(app, action), consequence, command })}
    >
      {LABELS[action.action]}
    </button>
  );
}

/** An undo names its revision: the one before may be another one by then. */
function whatOf(app: ActionButtonProps["app"], { action, toRevision }: ActionView): Act {
  return { action, ...nameOf(app), seen: app.seen, ...(toRevision !== undefined && { toRevision }) };
}

export function Actions({ app }: { app: ActionButtonProps["app"] & { readonly actions: readonly ActionView[] } }) {
  const isReadOnly = session.value.kind === "in" && session.value.readOnly;
  const refused = app.actions.find(({ allowed }) => !allowed);
  return (
    <div class="actions">
      {isReadOnly ? (
        <p class="dim">This dashboard is read-only.</p>
      ) : (
        <>
          <div class="buttons">
            {app.actions.map((action) => (
              <ActionButton key={action.action} app={app} action={action} isPrimary={action.action === "approve"} />
            ))}
          </div>
          {refused?.reason !== undefined && <p class="dim">{refused.reason}</p>}
        </>
      )}
    </div>
  );
}

/** Of a view that has much more. */
export function nameOf({ type, namespace, name }: ApplicationName): ApplicationName {
  return { type, namespace, name };
}

/** The open question, if there is one. */
export function Question() {
  const question = asked.value;
  return question && <Confirm {...question} />;
}

function close(): void {
  asked.value = undefined;
}

function Confirm({ name, what, consequence, command }: Asked) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [comment, setComment] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  const { action } = what;
  const isDanger = action === "abort" || action === "drain";
  const label = LABELS[action];
  const confirm = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      const { effect } = await act(comment === "" || "cluster" in what ? what : { ...what, comment });
      say(effect);
      close();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="confirm-title">
      <h2 id="confirm-title">
        {label} {name}?
      </h2>
      <p>{consequence}</p>
      {action === "approve" && (
        <label class="field">
          Comment (optional)
          <input value={comment} maxLength={1000} onInput={(event) => setComment(event.currentTarget.value)} />
        </label>
      )}
      {isStale.value && <p class="problem">{STALE}</p>}
      <p class="dim">The same on the command line:</p>
      <Command text={command} />
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <div class="buttons end">
        <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button
          type="button"
          class={isDanger ? "primary danger" : "primary"}
          disabled={isBusy || isStale.value}
          onClick={confirm}
        >
          {isBusy ? "Working ..." : label}
        </button>
      </div>
    </dialog>
  );
}
