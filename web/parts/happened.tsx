/** What the hub's Events say. */
import type { HappenedView } from "../../src/web/types.ts";
import { clockTime } from "../format.ts";

export function Happened({ happened: { notes, problem } }: { happened: HappenedView }) {
  if (problem !== undefined) return <p class="dim">{problem}</p>;
  if (notes.length === 0) return <p class="dim">The hub has no Events of it; it keeps them for about an hour.</p>;
  return (
    <ul class="spans">
      {notes.map(({ atMs, isWarning, reason, message }) => (
        <li key={`${atMs}${reason}${message}`} class={isWarning ? "warning" : ""}>
          <time>{clockTime(atMs)}</time> <strong>{reason}</strong>: {message}
        </li>
      ))}
    </ul>
  );
}
