/** What the application waits for now: evidence, remedy, the command to paste, and the button that does the same. */
import type { ComponentChildren } from "preact";
import type { ActionName, ActionView, ApplicationName, Seen, WhyView } from "../../src/web/types.ts";
import { ago, dateTime } from "../format.ts";
import { nowMs } from "../state.ts";
import { otherTitle, titleOf } from "../titles.ts";
import { ActionButton } from "./actions.tsx";
import { Card, Command } from "./common.tsx";

/** Actions that end a wait, the most likely one first. Abort and undo are decisions, not remedies. */
const REMEDIES: readonly ActionName[] = ["approve", "resume", "retry", "promote"];

type Waiting = ApplicationName & {
  readonly why: WhyView;
  readonly actions: readonly ActionView[];
  readonly seen: Seen;
};

function Remedy({ of, hasFailing }: { of: Waiting; hasFailing: boolean }) {
  const { why, actions } = of;
  const name = REMEDIES.find((one) => actions.some(({ action, allowed }) => action === one && allowed));
  const action = actions.find((one) => one.action === name);
  if (why.remedy.length === 0) return null;
  return (
    <>
      <h3>
        {why.needsPerson
          ? "Remedy"
          : hasFailing
            ? "If it does not recover by itself, look closer:"
            : "No action needed. If it takes too long:"}
      </h3>
      {why.remedy.map((text) => (
        <Command key={text} text={text} />
      ))}
      {why.needsPerson && action && (
        <div class="buttons">
          <ActionButton app={of} action={action} isPrimary />
        </div>
      )}
    </>
  );
}

interface WaitProps {
  readonly of: Waiting;
  /** A pod says that it fails: the wait may not end by itself. */
  readonly hasFailing?: boolean;
  /** More evidence, which comes first. */
  readonly children?: ComponentChildren;
}

export function Wait({ of, hasFailing = false, children }: WaitProps) {
  const { why, type, name, namespace } = of;
  const title = why.reason === undefined ? "Nothing to wait for" : why.needsPerson ? "It needs you" : "It waits";
  const tone = why.reason === undefined ? "good" : why.needsPerson ? "urgent" : "busy";
  const since =
    why.reason !== undefined && why.since !== undefined ? (
      <span class="dim" title={dateTime(why.since)}>
        for {ago(why.since, nowMs.value)}
      </span>
    ) : undefined;
  return (
    <Card title={title} id="wait" class={`wait ${tone}`} aside={since}>
      {why.reason !== undefined && (
        <p class="reason">
          {titleOf(why.reason, why.cluster)} <code class="code">{why.reason}</code>
        </p>
      )}
      <p class="sentence">{why.sentence}</p>
      {why.meaning !== undefined && <p class="dim">{why.meaning}</p>}
      {children}
      {why.evidence.length > 0 && (
        <>
          <h3>Evidence</h3>
          <table class="evidence">
            <thead>
              <tr>
                <th scope="col">Object</th>
                <th scope="col">Field</th>
                <th scope="col">Value</th>
              </tr>
            </thead>
            <tbody>
              {why.evidence.map(({ object, field, value }) => (
                <tr key={`${object}${field}`}>
                  <td>{object}</td>
                  <td>
                    <code>{field}</code>
                  </td>
                  <td>
                    <strong>{value}</strong>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      <Remedy of={of} hasFailing={hasFailing} />
      {why.reason === undefined && type !== "ccj" && (
        <>
          <h3>Before the next change, see what it would do</h3>
          <Command text={`lockstep plan -n ${namespace} -f FILE`} />
        </>
      )}
      {why.reason === undefined && (
        <>
          <h3>{type === "ccs" ? "Watch it in a terminal" : "The same in a terminal"}</h3>
          <Command
            text={
              type === "ccs"
                ? `lockstep status ${name} -n ${namespace} -w`
                : `lockstep status ${type}/${name} -n ${namespace}`
            }
          />
        </>
      )}
      {why.others.length > 0 && <p class="dim also">Also: {why.others.map(otherTitle).join(". ")}</p>}
    </Card>
  );
}
