import type { HttpResponse } from "../../runtime/index.ts";
import { badRequest } from "./status.ts";

/** What a pod has written; undefined: nothing is kept. */
export type LogReader = (pod: { readonly namespace: string; readonly name: string }) => string | undefined;

/** The log as `kubectl logs` requests it. It ends with the current end: `follow` does not wait. */
export function logResponse(text: string, query: URLSearchParams): HttpResponse {
  const lines = countOf(query, "tailLines");
  const bytes = countOf(query, "limitBytes");
  const whole = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  const tail = lines === undefined ? whole : lastLines(whole, lines);
  const body = bytes === undefined ? tail : Buffer.from(tail, "utf8").subarray(0, bytes).toString("utf8");
  return { status: 200, headers: { "content-type": "text/plain" }, body };
}

function lastLines(text: string, count: number): string {
  const lines = text.split("\n").slice(0, -1);
  return lines
    .slice(Math.max(0, lines.length - count))
    .map((line) => `${line}\n`)
    .join("");
}

function countOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  throw badRequest(`${name} must be a whole number, not ${JSON.stringify(text)}`);
}
