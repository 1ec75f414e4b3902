import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { emptyLedger } from "../../../plan/index.ts";
import { LedgerCopies, readLedgerCopy } from "./ledger-copy.ts";

/** Text that does not compress: every part is another digest. */
function noise(parts: number): string {
  return Array.from({ length: parts }, (_, at) => createHash("sha256").update(String(at)).digest("hex")).join("");
}

it("a copy of a ledger is read as the ledger that it was made of", () => {
  const ledger = { ...emptyLedger(), undoHeard: noise(10) };
  const copy = new LedgerCopies().of("default/db", ledger);
  expect(readLedgerCopy(copy ?? "")).toEqual(ledger);
});

it("[I19] a copy that is longer than status may hold is left out, until the ledger is smaller again", () => {
  const copies = new LedgerCopies();
  expect(copies.of("default/db", { ...emptyLedger(), undoHeard: noise(20_000) })).toBeUndefined();
  expect(copies.of("default/db", emptyLedger())).toBeDefined();
});
