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
import { ApiError, getSession, live, signInWith, takeNewestKey, whenOtherSignsIn, whenRefused } from "./api.ts";
import { withChanges } from "./overview.ts";

export type Route =
  | { readonly page: "applications" }
  | { readonly page: "fleet" }
  | ({ readonly page: "application" } & ApplicationName);

export type Session =
  | { readonly kind: "asking" }
  | { readonly kind: "out"; readonly message?: string }
  | ({ readonly kind: "in" } & SessionView);

/**
 * The connection to the server. `connecting`: what is shown, if there is anything, is from the connection before. `lost`:
 * nothing was received since `heardMs`. `resting`: the page is in the background.
 */
export interface Link {
  readonly state: "connecting" | "live" | "lost" | "resting";
  readonly heardMs: number;
  /** Why the server refuses it. */
  readonly refusal?: string;
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
/** Browsers open six connections to one server: pages in the background must not take them from the one in front. */
const REST_AFTER_MS = 30_000;

export const isStale = computed(() => link.value.state !== "live" || trouble.value !== undefined);
export const isEmpty = computed(
  () => (application.value ?? distribution.value ?? job.value ?? overview.value) === undefined,
);

whenRefused((message) => {
  if (session.value.kind === "in") signedOut(message);
});

export async function start(): Promise<void> {
  addEventListener("hashchange", () => {
    route.value = readRoute();
  });
  setInterval(tick, TICK_MS);
  document.addEventListener("visibilitychange", lookedAt);
  // A page may have been opened in the background.
  lookedAt();
  whenOtherSignsIn(() => void becomeOther());
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
  const at = space !== undefined && name !== undefined ? decoded(space, name) : undefined;
  if (type !== undefined && at) return { page: "application", type, ...at };
  return { page: page === "fleet" ? "fleet" : "applications" };
}

/** Undefined: no page writes such an address. */
function decoded(space: string, name: string): { namespace: string; name: string } | undefined {
  try {
    return { namespace: decodeURIComponent(space), name: decodeURIComponent(name) };
  } catch {
    return undefined;
  }
}

export function addressOf(to: Route): string {
  if (to.page !== "application") return to.page === "fleet" ? "#/fleet" : "#/";
  return `#/${to.type}/${encodeURIComponent(to.namespace)}/${encodeURIComponent(to.name)}`;
}

let stream: AbortController | undefined;
let openedMs = 0;
let hiddenMs: number | undefined;
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
  stream?.abort();
  watched = "";
}

function open(): void {
  stream?.abort();
  const own = new AbortController();
  stream = own;
  openedMs = Date.now();
  const handle = (event: string, data: string) => {
    if (stream !== own) return;
    // A beat proves the connection, not that what is shown is new.
    const { state } = link.value;
    const next = event !== "beat" ? "live" : state === "live" ? "live" : "connecting";
    link.value = { state: next, heardMs: Date.now() };
    receive({ event, data: JSON.parse(data) } as LiveEvent);
  };
  const lost = (error?: unknown) => {
    if (stream !== own || own.signal.aborted) return;
    if (error instanceof ApiError && error.status === 401) {
      signedOut(ENDED);
      return;
    }
    const refusal = error instanceof ApiError && error.status !== 0 ? { refusal: error.message } : {};
    link.value = { state: "lost", heardMs: link.value.heardMs, ...refusal };
  };
  live(watched, handle, own.signal).then(() => lost(), lost);
}

const ENDED = "Your session has ended. Sign in again.";

/** Each of them replaces what was shown before as a whole. */
function receive(said: LiveEvent): void {
  switch (said.event) {
    case "application":
      application.value = said.data;
      break;
    case "distribution":
      distribution.value = said.data;
      break;
    case "job":
      job.value = said.data;
      break;
    case "overview":
      overview.value = said.data;
      break;
    case "overview-changes": {
      const next = withChanges(overview.value, said.data);
      // The server counts from another overview than the one that is shown: only a whole one helps.
      if (!next) {
        open();
        return;
      }
      overview.value = next;
      break;
    }
    case "trouble":
      // It was deleted, or the viewer may no longer see it.
      if (said.data.gone) clear();
      trouble.value = said.data;
      return;
    case "signed-out":
      signedOut(said.data.message ?? ENDED);
      return;
    default:
      return;
  }
  trouble.value = undefined;
}

function lookedAt(): void {
  hiddenMs = document.hidden ? Date.now() : undefined;
  if (document.hidden || link.value.state !== "resting" || watched === "") return;
  link.value = { state: "connecting", heardMs: Date.now() };
  open();
}

/** A user has signed in on another page of this browser. What the one before saw and began to do is forgotten. */
async function becomeOther(): Promise<void> {
  signedOut();
  takeNewestKey();
  try {
    session.value = { kind: "in", ...(await getSession()) };
  } catch {
    // They have left again; here one can sign in.
  }
}

export function signedOut(message?: string): void {
  unwatch();
  clear();
  session.value = { kind: "out", ...(message !== undefined && { message }) };
}

function tick(): void {
  nowMs.value = Date.now();
  if (session.value.kind !== "in" || watched === "" || link.value.state === "resting") return;
  if (hiddenMs !== undefined && Date.now() - hiddenMs > REST_AFTER_MS) {
    stream?.abort();
    link.value = { ...link.value, state: "resting" };
    return;
  }
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
