/** Requests to the dashboard's own server. */
import type {
  Act,
  AppAddress,
  ClusterAct,
  LogsOf,
  PodReportsView,
  PodsOf,
  RecordOf,
  RecordView,
  SessionView,
} from "../src/web/types.ts";

/** Thrown with the server's words. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const KEY = "lockstep-key";

/** The half of the session that browsers send to no other port of this host. */
export function ownKey(): string {
  return localStorage.getItem(KEY) ?? "";
}

let refused: (message: string) => void = () => {};

/** Called if the server, or the hub behind it, no longer accepts who is signed in. */
export function whenRefused(then: (message: string) => void): void {
  refused = then;
}

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers: {
        "x-lockstep-dashboard": "1",
        "x-lockstep-key": ownKey(),
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  } catch {
    throw new ApiError(0, "The dashboard's server does not answer. Is it still running?");
  }
  const data = await answer.json().catch(() => ({}));
  if (answer.status === 401 && path !== "/api/session") refused(data.error ?? "Sign in again.");
  if (!answer.ok) throw new ApiError(answer.status, data.error ?? `The server answered ${answer.status}.`);
  return data;
}

export const getSession = () => ask<SessionView>("GET", "/api/session");
export async function signInWith(credentials: { token: string } | { link: string }): Promise<SessionView> {
  const { key = "", ...session } = await ask<SessionView>("POST", "/api/session", credentials);
  localStorage.setItem(KEY, key);
  return session;
}
export const endSession = () => ask<object>("DELETE", "/api/session");
export const act = (what: Act | ClusterAct) => ask<{ effect: string }>("POST", "/api/act", what);
export const logs = (of: LogsOf) => ask<{ text: string }>("GET", `/api/logs?${new URLSearchParams({ ...of })}`);
export const podReports = ({ namespace, name }: AppAddress) =>
  ask<PodReportsView>("GET", `/api/pod-reports?${new URLSearchParams({ namespace, name })}`);
export const record = (of: RecordOf) => ask<RecordView>("GET", `/api/record?${new URLSearchParams({ ...of })}`);
export const pods = (of: PodsOf) => ask<{ pods: string[] }>("GET", `/api/pods?${new URLSearchParams({ ...of })}`);
