/** What the viewer may do now. Every action is confirmed in a dialog that says what happens. */
import { useEffect, useRef, useState } from "preact/hooks";
import type {
  Act,
  ActionName,
  ActionView,
  ApplicationName,
  ClusterAct,
  ClusterActionName,
} from "../../src/web/types.ts";
import { act } from "../api.ts";
import { say, session } from "../state.ts";
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

interface ActionButtonProps {
  readonly app: ApplicationName;
  readonly action: ActionView;
  readonly isPrimary?: boolean;
}

export function ActionButton({ app, action, isPrimary = false }: ActionButtonProps) {
  const [isAsking, ask] = useState(false);
  if (session.value.kind !== "in" || session.value.readOnly) return null;
  const look = isPrimary ? "primary" : action.action === "abort" ? "danger" : "";
  return (
    <>
      <button type="button" class={look} disabled={!action.allowed} title={action.reason} onClick={() => ask(true)}>
        {LABELS[action.action]}
      </button>
      {isAsking && (
        <Confirm
          name={app.name}
          what={{ action: action.action, ...nameOf(app) }}
          {...action}
          close={() => ask(false)}
        />
      )}
    </>
  );
}

export function Actions({ app }: { app: ApplicationName & { readonly actions: readonly ActionView[] } }) {
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

interface ConfirmProps {
  /** Of the application or the cluster. */
  readonly name: string;
  readonly what: Act | ClusterAct;
  readonly consequence: string;
  readonly command: string;
  readonly close: () => void;
}

export function Confirm({ name, what, consequence, command, close }: ConfirmProps) {
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
        <button type="button" class={isDanger ? "primary danger" : "primary"} disabled={isBusy} onClick={confirm}>
          {isBusy ? "Working ..." : label}
        </button>
      </div>
    </dialog>
  );
}
