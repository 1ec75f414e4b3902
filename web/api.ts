/** Requests to the dashboard's own server. */
import type {
  Act,
  ApplicationName,
  ClusterAct,
  LogsOf,
  PodReportsView,
  PodsOf,
  RecordOf,
  RecordView,
  SessionView,
} from "../src/web/types.ts";
import { eventsIn } from "./event-stream.ts";
import { keep, kept } from "./kept.ts";

/** Thrown with the server's words. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const KEY = "lockstep-key";

/**
 * The half of the session that browsers send to no other port of this host. A page keeps the one that it began with: the
 * cookie is the browser's, and may by now be that of a user who signed in on another page.
 */
let ownKey = kept(KEY);

/** Calls back when another page of this browser has signed in. */
export function whenOtherSignsIn(then: () => void): void {
  addEventListener("storage", ({ key, newValue }) => {
    if (key === KEY && newValue !== null) then();
  });
}

/** From now on this page belongs to the user who signed in last in this browser. */
export function takeNewestKey(): void {
  ownKey = kept(KEY);
}

let refused: (message: string) => void = () => {};

/** Called if the server, or the hub behind it, no longer accepts who is signed in. */
export function whenRefused(then: (message: string) => void): void {
  refused = then;
}

const NO_ANSWER = "The dashboard's server does not answer. Is it still running?";

/**
 * Reads a live stream until it ends or the signal aborts. Not by EventSource: that could send the key only in the
 * address, and would not say why a stream is refused. Throws ApiError.
 */
export async function live(
  topic: string,
  handle: (event: string, data: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let answer: Response;
  try {
    answer = await fetch(`/api/live/${topic}`, { headers: { "x-lockstep-key": ownKey }, signal });
  } catch {
    throw new ApiError(0, NO_ANSWER);
  }
  if (!answer.ok || !answer.body) throw await errorOf(answer);
  try {
    for await (const { event, data } of eventsIn(answer.body.getReader())) {
      if (signal.aborted) return;
      handle(event, data);
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof TypeError ? new ApiError(0, NO_ANSWER) : error;
  }
}

async function errorOf(answer: Response): Promise<ApiError> {
  const data = await answer.json().catch(() => ({}));
  return new ApiError(answer.status, data.error ?? `The server answered ${answer.status}.`);
}

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers: {
        "x-lockstep-dashboard": "1",
        "x-lockstep-key": ownKey,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  } catch {
    throw new ApiError(0, NO_ANSWER);
  }
  if (answer.ok) return answer.json();
  const error = await errorOf(answer);
  if (answer.status === 401 && path !== "/api/session") refused(error.message);
  throw error;
}

export const getSession = () => ask<SessionView>("GET", "/api/session");
export async function signInWith(credentials: { token: string } | { link: string }): Promise<SessionView> {
  const { key = "", ...session } = await ask<SessionView>("POST", "/api/session", credentials);
  ownKey = key;
  keep(KEY, key);
  return session;
}
export const endSession = () => ask<object>("DELETE", "/api/session");
export const act = (what: Act | ClusterAct) => ask<{ effect: string }>("POST", "/api/act", what);
export const logs = (of: LogsOf) => ask<{ text: string }>("GET", `/api/logs?${new URLSearchParams({ ...of })}`);
export const podReports = ({ type, namespace, name }: ApplicationName) =>
  ask<PodReportsView>("GET", `/api/pod-reports?${new URLSearchParams({ type, namespace, name })}`);
export const record = (of: RecordOf) => ask<RecordView>("GET", `/api/record?${new URLSearchParams({ ...of })}`);
export const pods = (of: PodsOf) => ask<{ pods: string[] }>("GET", `/api/pods?${new URLSearchParams({ ...of })}`);
