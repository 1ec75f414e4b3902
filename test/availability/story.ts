/** What happened to requests that failed, and to the members meanwhile, in lines. Pure. */
import type { ClientRecord, Window } from "./record.ts";

const MAX_LINES = 60;

/** Failed attempts and changes of what each member says, in order, in milliseconds from the window's start. */
export function storyOf({ attempts, looks }: ClientRecord, { fromUs, toUs }: Window): string[] {
  const isInside = (endUs: number) => endUs >= fromUs && endUs < toUs;
  const failed = attempts
    .filter(({ error, end }) => error !== undefined && isInside(end))
    .map(({ kind, client, start, end, try: attempt, error }) => ({
      atUs: start,
      text: `client ${client}: attempt ${attempt} of a ${kind} failed at ${ms(end)}: ${error?.slice(0, 80)}`,
    }));
  const said = new Map<string, string>();
  const changes = looks
    .filter(({ end }) => isInside(end))
    .flatMap(({ endpoint, start, leader, term, error }) => {
      const text = error === undefined ? `leader ${leader} in term ${term}` : `no answer: ${error.slice(0, 60)}`;
      if (said.get(endpoint) === text) return [];
      said.set(endpoint, text);
      return [{ atUs: start, text: `${endpoint}: ${text}` }];
    });
  const all = [...failed, ...changes].sort((left, right) => left.atUs - right.atUs);
  return all.slice(0, MAX_LINES).map(({ atUs, text }) => `${ms(atUs)} ${text}`);

  function ms(us: number): number {
    return Math.round((us - fromUs) / 1000);
  }
}
