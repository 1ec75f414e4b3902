/** What surrounds every page: navigation, the state of the connection, sign-in. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { endSession, signInWith } from "../api.ts";
import { clockTime } from "../format.ts";
import { keep, kept } from "../kept.ts";
import { isEmpty, link, route, session, signedOut, toast, trouble } from "../state.ts";
import { Command } from "./common.tsx";

type Theme = "auto" | "light" | "dark";
const THEMES: readonly Theme[] = ["auto", "light", "dark"];
const stored = kept("theme");
const theme = signal<Theme>(THEMES.find((one) => one === stored) ?? "auto");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
prefersDark.addEventListener("change", applyTheme);
applyTheme();

function applyTheme(): void {
  const own = prefersDark.matches ? "dark" : "light";
  document.documentElement.dataset.theme = theme.value === "auto" ? own : theme.value;
}

function ThemeSwitch() {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
  const change = () => {
    theme.value = next;
    keep("theme", next);
    applyTheme();
  };
  const sign = { auto: "◐", light: "☀", dark: "☾" }[theme.value];
  return (
    <button type="button" class="quiet" onClick={change} aria-label={`Colours: ${theme.value}. Change to ${next}`}>
      <span aria-hidden="true">{sign}</span> <span class="theme-word">{theme.value}</span>
    </button>
  );
}

function LiveMark() {
  const isSilent = trouble.value !== undefined && !trouble.value.gone;
  // The connection to this server is open, and what comes over it is not new.
  const state = link.value.state === "live" && isSilent ? "lost" : link.value.state;
  const word = state === "live" ? "live" : state !== "lost" ? "connecting" : isSilent ? "no news" : "connection lost";
  return (
    <span class={`live ${state}`} role="status">
      <span class="dot" aria-hidden="true" /> <span class="live-word">{word}</span>
    </span>
  );
}

export function Bar() {
  const { page } = route.value;
  const signOut = async () => {
    await endSession().catch(() => {});
    signedOut();
  };
  if (session.value.kind !== "in") return null;
  const { user, server } = session.value;
  return (
    <header class="bar">
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <a class="brand" href="#/" aria-label="Lockstep, all applications">
        <img src="/icon.svg" alt="" width="26" height="26" /> <span class="brand-word">Lockstep</span>
      </a>
      <nav aria-label="Pages">
        <a href="#/" aria-current={page === "fleet" ? undefined : "page"}>
          Applications
        </a>
        <a href="#/fleet" aria-current={page === "fleet" ? "page" : undefined}>
          Fleet
        </a>
      </nav>
      <span class="space" />
      <LiveMark />
      <ThemeSwitch />
      <span class="who" title={server}>
        {user}
      </span>
      <button type="button" class="quiet" onClick={signOut}>
        Sign out
      </button>
    </header>
  );
}

/** Says that what is shown is old. */
export function Banner() {
  const { state, heardMs, refusal } = link.value;
  if (state === "lost") {
    return (
      <p class="banner" role="alert">
        Nothing received since {clockTime(heardMs)}. What you see is from then.{" "}
        {refusal === undefined ? "" : `The server says: ${refusal}. `}Connecting again ...
      </p>
    );
  }
  if (state !== "live" && !isEmpty.value) {
    return (
      <p class="banner calm" role="status">
        Connecting again. What you see is from before, until the hub has been read.
      </p>
    );
  }
  if (trouble.value && !trouble.value.gone) {
    return (
      <p class="banner" role="alert">
        {trouble.value.message}. What you see is old.
      </p>
    );
  }
  return null;
}

export function Toast() {
  const shown = toast.value;
  return (
    <div class="toasts" role="status">
      {shown && <p class={`toast ${shown.isBad ? "bad" : ""}`}>{shown.text}</p>}
    </div>
  );
}

export function SignIn({ message }: { message: string | undefined }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(message);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      session.value = { kind: "in", ...(await signInWith({ token })) };
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <div class="card">
        <img src="/icon.svg" alt="" width="44" height="44" />
        <h1>Sign in to Lockstep</h1>
        <p class="dim">You see and change exactly what your own account may see and change on the hub.</p>
        <form onSubmit={submit}>
          <label class="field">
            Bearer token of the hub
            <input
              type="password"
              name="token"
              autocomplete="off"
              value={token}
              onInput={(event) => setToken(event.currentTarget.value)}
            />
          </label>
          {problem !== undefined && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <button type="submit" class="primary" disabled={isBusy || token.trim() === ""}>
            {isBusy ? "Asking the hub ..." : "Sign in"}
          </button>
        </form>
        <p class="dim">A token of a service account:</p>
        <Command text="kubectl create token NAME -n NAMESPACE" />
        <p class="dim">Or with your kubeconfig, without a token:</p>
        <Command text="lockstep dashboard" />
      </div>
    </main>
  );
}
