import { CommandError } from "../errors.ts";
import type { Io } from "./io.ts";

/**
 * Dangerous actions are described in words, and need a yes: typed, or given with --yes if standard input is not a
 * terminal.
 */
export async function confirm(io: Io, yes: boolean | undefined, consequence: string): Promise<void> {
  if (yes === true) return;
  if (!io.canAsk) throw new CommandError(`${consequence} Standard input is not a terminal; pass --yes to confirm`);
  const answer = await io.ask(`${consequence} Continue? Type 'yes': `);
  if (answer.trim().toLowerCase() !== "yes") throw new CommandError("nothing was changed");
}
