/** A summary of a campaign's counts for readers who have not read the properties. Pure. */
import { AGENT_FAULTS, CHANGES, CHECKS, FAULTS, SITUATIONS } from "./reach.ts";

interface Group {
  readonly title: string;
  /** The meaning of one count. */
  readonly meaning: string;
  readonly names: readonly string[];
}

function groupsOf(reach: Readonly<Record<string, number>>): Group[] {
  const known = new Set<string>([...SITUATIONS, ...AGENT_FAULTS]);
  const ofAgents = AGENT_FAULTS.filter((name) => reach[name] !== undefined);
  return [
    {
      title: "Checks",
      meaning: "how often each promise was at risk and was checked",
      names: [...CHECKS, ...Object.keys(reach).filter((name) => !known.has(name))],
    },
    {
      title: "Faults",
      meaning: "how often each fault was injected",
      names: [...FAULTS, ...ofAgents],
    },
    {
      title: "Changes",
      meaning: "how often users, or the engine, did each meanwhile",
      names: CHANGES,
    },
  ];
}

/** One line for each group. */
export function reachSummary(reach: Readonly<Record<string, number>>): string[] {
  return groupsOf(reach).map(({ title, meaning, names }) => {
    const met = names.filter((name) => (reach[name] ?? 0) > 0);
    const total = met.reduce((sum, name) => sum + (reach[name] ?? 0), 0);
    return `${title}: ${total}, of ${met.length} of ${names.length} kinds (${meaning})`;
  });
}

/** Every count, under its group. */
export function reachTable(reach: Readonly<Record<string, number>>): string[] {
  const groups = groupsOf(reach);
  const width = Math.max(...groups.flatMap(({ names }) => names.map((name) => name.length)));
  return groups.flatMap(({ title, meaning, names }) => [
    `${title}: ${meaning}`,
    ...names.map((name) => `  ${name.padEnd(width)}  ${reach[name] ?? 0}`),
    "",
  ]);
}
