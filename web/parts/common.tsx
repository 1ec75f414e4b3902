/** Small parts that several pages use. */
import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { ago, short, type Tone, toneOf, words } from "../format.ts";
import { nowMs, session } from "../state.ts";

const MARKS: Record<Tone, string> = { good: "✓", busy: "↻", bad: "✕", calm: "·" };

/** A word with its colour and a sign, so that the colour never says it alone. `isCode`: as Kubernetes writes it. */
export function Pill(props: { word: string; tone?: Tone; isCode?: boolean }) {
  const { word, tone = toneOf(word), isCode = false } = props;
  return (
    <span class={`pill ${tone}`}>
      <span aria-hidden="true">{MARKS[tone]}</span> {isCode ? word : words(word)}
    </span>
  );
}

export function Card(props: {
  title: string;
  id: string;
  aside?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}) {
  return (
    <section class={`card ${props.class ?? ""}`} aria-labelledby={props.id}>
      <header class="card-head">
        <h2 id={props.id}>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

/** How long ago. Only this text changes while time passes. */
export function Ago({ time }: { time: string }) {
  const text = useComputed(() => ago(time, nowMs.value));
  return <>{text}</>;
}

/** A command to paste. The page's own begin with `lockstep`: they get the name that works where the viewer is. */
export function Command({ text: given }: { text: string }) {
  const program = session.value.kind === "in" ? session.value.program : "lockstep";
  const text = given.startsWith("lockstep ") ? `${program}${given.slice("lockstep".length)}` : given;
  const [word, setWord] = useState("Copy");
  const code = useRef<HTMLElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setWord("Copied");
    } catch {
      // A browser may forbid it. Then the text is selected, for a person to copy it.
      if (code.current) getSelection()?.selectAllChildren(code.current);
      setWord("Selected");
    }
    setTimeout(() => setWord("Copy"), 1_500);
  };
  return (
    <div class="command">
      <code ref={code}>{text}</code>
      <button type="button" class="quiet" onClick={copy} aria-label={`Copy the command ${text}`}>
        <span role="status">{word}</span>
      </button>
    </div>
  );
}

/** What a rollout leads from and to; the first one leads from nothing. */
export function FromTo(props: { word: string; from?: string; to?: string }) {
  const { word, from, to } = props;
  return (
    <>
      {from === undefined ? "deploys" : word}{" "}
      {from !== undefined && (
        <>
          <code title={from}>{short(from)}</code> →{" "}
        </>
      )}
      <code title={to}>{short(to)}</code>
    </>
  );
}

/** `path: old -> new`, as `lockstep history` prints it. */
export function Change({ line }: { line: string }) {
  const [, path, before, after] = /^([^:]+): (.*) -> (.*)$/s.exec(line) ?? [];
  if (path === undefined) return <code class="change">{line}</code>;
  return (
    <code class="change">
      <span class="dim">{path}:</span> {before} <span class="dim">→</span> <strong>{after}</strong>
    </code>
  );
}

/** `isPage`: there is nothing else on the page, so this is its heading. */
export function Empty(props: { title: string; isPage?: boolean; children: ComponentChildren }) {
  const { title, isPage = false, children } = props;
  return (
    <div class="empty">
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}
