/** What the page shows now. A snapshot replaces the one before it as a whole, so that no mixed state is ever shown. */
import { computed, signal } from "@preact/signals";
import type {
  ApplicationName,
  ApplicationView,
  AppType,
  DistributionView,
  JobView,
  LiveEvent,
  OverviewView,
  SessionView,
} from "../src/web/types.ts";
import { ApiError, getSession, ownKey, signInWith, whenRefused } from "./api.ts";
import { withChanges } from "./overview.ts";

export type Route =
  | { readonly page: "applications" }
  | { readonly page: "fleet" }
  | ({ readonly page: "application" } & ApplicationName);

export type Session =
  | { readonly kind: "asking" }
  | { readonly kind: "out"; readonly message?: string }
  | ({ readonly kind: "in" } & SessionView);

/** The connection to the server. `lost`: nothing was received since `heardMs`. */
export interface Link {
  readonly state: "connecting" | "live" | "lost";
  readonly heardMs: number;
}

/** `application` is how links to a CrossClusterStatefulset began when there was no other kind. */
const TYPES_BY_PAGE: Readonly<Record<string, AppType>> = { ccs: "ccs", dapp: "dapp", ccj: "ccj", application: "ccs" };

export const session = signal<Session>({ kind: "asking" });
export const route = signal<Route>(readRoute());
export const application = signal<ApplicationView | undefined>(undefined);
export const distribution = signal<DistributionView | undefined>(undefined);
export const job = signal<JobView | undefined>(undefined);
export const overview = signal<OverviewView | undefined>(undefined);
export const trouble = signal<{ message: string; gone: boolean } | undefined>(undefined);
export const link = signal<Link>({ state: "connecting", heardMs: Date.now() });
/** Redraws ages and the timeline's present. */
export const nowMs = signal(Date.now());
export const toast = signal<{ text: string; isBad: boolean } | undefined>(undefined);
/** For viewers who may not list all namespaces. */
export const namespace = signal(sessionStorage.getItem("namespace") ?? "");

/** Two and a half of the server's beats. */
const SILENCE_MS = 10_000;
const TICK_MS = 1_000;
const REOPEN_MS = 3_000;

export const isStale = computed(() => link.value.state === "lost" || trouble.value !== undefined);

whenRefused((message) => {
  if (session.value.kind === "in") signedOut(message);
});

export async function start(): Promise<void> {
  addEventListener("hashchange", () => {
    route.value = readRoute();
  });
  setInterval(tick, TICK_MS);
  const secret = /^#link=([\w-]+)$/.exec(location.hash)?.[1];
  try {
    if (secret !== undefined) {
      history.replaceState(null, "", "#/");
      route.value = readRoute();
      session.value = { kind: "in", ...(await signInWith({ link: secret })) };
    } else session.value = { kind: "in", ...(await getSession()) };
  } catch (error) {
    const message =
      error instanceof ApiError && (secret !== undefined || error.status !== 401) ? error.message : undefined;
    session.value = { kind: "out", ...(message !== undefined && { message }) };
  }
}

function readRoute(): Route {
  const [, page, space, name] = /^#\/([^/]*)(?:\/([^/]+)\/([^/]+))?$/.exec(location.hash) ?? [];
  const type = TYPES_BY_PAGE[page ?? ""];
  if (type !== undefined && space !== undefined && name !== undefined) {
    return { page: "application", type, namespace: decodeURIComponent(space), name: decodeURIComponent(name) };
  }
  return { page: page === "fleet" ? "fleet" : "applications" };
}

export function addressOf(to: Route): string {
  if (to.page !== "application") return to.page === "fleet" ? "#/fleet" : "#/";
  return `#/${to.type}/${encodeURIComponent(to.namespace)}/${encodeURIComponent(to.name)}`;
}

let source: EventSource | undefined;
let openedMs = 0;
let watched = "";

/** Opens the stream of what is shown; the one before it ends. */
export function watch(to: Route): void {
  const query =
    to.page === "application"
      ? `application?${new URLSearchParams({ type: to.type, namespace: to.namespace, name: to.name })}`
      : `overview${namespace.value === "" ? "" : `?${new URLSearchParams({ namespace: namespace.value })}`}`;
  if (watched === query) return;
  watched = query;
  clear();
  trouble.value = undefined;
  link.value = { state: "connecting", heardMs: Date.now() };
  open();
}

function clear(): void {
  application.value = undefined;
  distribution.value = undefined;
  job.value = undefined;
  overview.value = undefined;
}

export function unwatch(): void {
  source?.close();
  watched = "";
}

function open(): void {
  source?.close();
  const stream = new EventSource(`/api/live/${watched}${watched.includes("?") ? "&" : "?"}key=${ownKey()}`);
  source = stream;
  openedMs = Date.now();
  const on = <E extends LiveEvent["event"]>(
    event: E,
    handle: (data: Extract<LiveEvent, { event: E }>["data"]) => void,
  ) =>
    stream.addEventListener(event, (message) => {
      if (source !== stream) return;
      link.value = { state: "live", heardMs: Date.now() };
      handle(JSON.parse(message.data));
    });
  on("application", (data) => {
    trouble.value = undefined;
    application.value = data;
  });
  on("distribution", (data) => {
    trouble.value = undefined;
    distribution.value = data;
  });
  on("job", (data) => {
    trouble.value = undefined;
    job.value = data;
  });
  on("overview", (data) => {
    trouble.value = undefined;
    overview.value = data;
  });
  on("overview-changes", (data) => {
    const next = withChanges(overview.value, data);
    // The server counts from another overview than the one that is shown: only a whole one helps.
    if (!next) return open();
    trouble.value = undefined;
    overview.value = next;
  });
  on("trouble", (data) => {
    // It was deleted, or the viewer may no longer see it.
    if (data.gone) clear();
    trouble.value = data;
  });
  on("beat", () => {});
  on("signed-out", ({ message }) => signedOut(message ?? "Your session has ended. Sign in again."));
  stream.addEventListener("error", () => {
    if (source !== stream) return;
    link.value = { ...link.value, state: "lost" };
    // A closed stream was refused: perhaps the session has ended.
    if (stream.readyState === EventSource.CLOSED) void checkSession();
  });
}

async function checkSession(): Promise<void> {
  try {
    await getSession();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) signedOut("Your session has ended. Sign in again.");
  }
}

export function signedOut(message?: string): void {
  unwatch();
  clear();
  session.value = { kind: "out", ...(message !== undefined && { message }) };
}

function tick(): void {
  nowMs.value = Date.now();
  if (session.value.kind !== "in" || watched === "") return;
  const silentMs = Date.now() - link.value.heardMs;
  if (silentMs > SILENCE_MS && link.value.state !== "lost") link.value = { ...link.value, state: "lost" };
  if (link.value.state === "lost" && Date.now() - openedMs > REOPEN_MS) open();
}

export function say(text: string, isBad = false): void {
  toast.value = { text, isBad };
  const shown = toast.value;
  setTimeout(
    () => {
      if (toast.value === shown) toast.value = undefined;
    },
    isBad ? 12_000 : 6_000,
  );
}
