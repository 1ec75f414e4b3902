/**
 * The ledger as `status.ledger` shows it. The ledger itself is in Lockstep's own namespace, which the people who run
 * `lockstep plan` may not read. The copy is for them alone; the controller never reads it back.
 */
import { LEDGER_COPY_CHARS } from "../../../api/index.ts";
import { type Ledger, LedgerUnreadable, parseLedger } from "../../../plan/index.ts";
import { compressed, decompressed } from "../../../runtime/index.ts";
import { sameButMarks } from "./ledger-marks.ts";

/** A copy that inflates to more than this is no ledger. */
const LEDGER_MAX_BYTES = 16 * 1024 * 1024;

/** Undefined: this is no ledger that this version can read. */
export function readLedgerCopy(text: string): Ledger | undefined {
  try {
    return parseLedger(JSON.parse(decompressed(Buffer.from(text, "base64"), LEDGER_MAX_BYTES)));
  } catch (error) {
    if (error instanceof LedgerUnreadable || error instanceof SyntaxError) return undefined;
    if (error instanceof Error && "code" in error) return undefined;
    throw error;
  }
}

/** The text of each application's ledger; written again only if more than marks has changed. */
export class LedgerCopies {
  readonly #known = new Map<string, { readonly ledger: Ledger; readonly text: string | undefined }>();

  /** Undefined: the copy is longer than status may hold. */
  of(key: string, ledger: Ledger): string | undefined {
    const known = this.#known.get(key);
    if (known && sameButMarks(known.ledger, ledger)) return known.text;
    const copy = compressed(JSON.stringify(ledger)).toString("base64");
    const text = copy.length > LEDGER_COPY_CHARS ? undefined : copy;
    this.#known.set(key, { ledger, text });
    return text;
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}
