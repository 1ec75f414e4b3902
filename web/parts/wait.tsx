/** What the application waits for now: evidence, remedy, and the command to paste. */
import type { ApplicationName, WhyView } from "../../src/web/types.ts";
import { ago, dateTime } from "../format.ts";
import { nowMs } from "../state.ts";
import { Card, Command } from "./common.tsx";

export function Wait({ of }: { of: ApplicationName & { readonly why: WhyView } }) {
  const { why, type, name, namespace } = of;
  const title = why.reason === undefined ? "Nothing to wait for" : why.needsPerson ? "It needs you" : "It waits";
  const tone = why.reason === undefined ? "good" : why.needsPerson ? "urgent" : "busy";
  return (
    <Card title={title} id="wait" class={`wait ${tone}`}>
      {why.reason !== undefined && (
        <p class="reason">
          <strong>{why.reason}</strong>
          {why.since !== undefined && (
            <span class="dim" title={dateTime(why.since)}>
              {" "}
              for {ago(why.since, nowMs.value)}
            </span>
          )}
        </p>
      )}
      <p class="sentence">{why.sentence}</p>
      {why.meaning !== undefined && <p class="dim">{why.meaning}</p>}
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
                  <td>{field}</td>
                  <td>
                    <strong>{value}</strong>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      {why.remedy.length > 0 && (
        <>
          <h3>{why.needsPerson ? "Remedy" : "No action needed. If it takes too long:"}</h3>
          {why.remedy.map((text) => (
            <Command key={text} text={text} />
          ))}
        </>
      )}
      {why.reason === undefined && type !== "ccj" && (
        <>
          <h3>Before the next change, see what it would do</h3>
          <Command text={`lockstep plan -n ${namespace} -f FILE`} />
        </>
      )}
      {why.reason === undefined && type === "ccs" && (
        <>
          <h3>Watch it in a terminal</h3>
          <Command text={`lockstep status ${name} -n ${namespace} -w`} />
        </>
      )}
      {why.others.length > 0 && <p class="dim also">Also waiting: {why.others.join(", ")}</p>}
    </Card>
  );
}
