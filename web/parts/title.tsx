/** The head of every application's page: its name, its phase, what is said of it, and what the viewer may do. */
import type { ComponentChildren } from "preact";
import type { ActionView, ApplicationName, Seen } from "../../src/web/types.ts";
import { short } from "../format.ts";
import { Actions } from "./actions.tsx";
import { Pill } from "./common.tsx";

interface TitleProps {
  readonly app: ApplicationName & {
    readonly phase: string;
    readonly isCurrent: boolean;
    readonly rejectedRevision?: string;
    readonly actions: readonly ActionView[];
    readonly seen: Seen;
  };
  /** Instead of the phase. */
  readonly isPaused?: boolean;
  /** The line below the name. */
  readonly children: ComponentChildren;
}

export function Title({ app, isPaused = false, children }: TitleProps) {
  return (
    <div class="title-row">
      <div>
        <p class="crumb">
          <a href="#/">Applications</a> / {app.namespace}
        </p>
        <h1>
          {app.name} <Pill word={isPaused ? "Paused" : app.phase} />
        </h1>
        {children}
        {!app.isCurrent && <p class="dim">The controller has not processed the last edit yet.</p>}
        {app.rejectedRevision !== undefined && (
          <p class="dim">
            Revision <code>{short(app.rejectedRevision)}</code> failed or was undone. It is not tried again until the{" "}
            {app.type === "ccs" ? "template" : "source"} changes.
          </p>
        )}
      </div>
      <Actions app={app} />
    </div>
  );
}
