import { existsSync } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { EmbeddedFleet, FleetSnapshot } from "../../../embedded/index.ts";
import { Journal, readJournals, withChanges } from "./journal.ts";
import { FolderInUseError, lockFolder } from "./lock.ts";

/** Thrown when the content of `--data-dir` cannot be used. */
export class DataFolderError extends Error {
  override readonly name = "DataFolderError";
  readonly file: string;

  constructor(file: string, message: string, cause?: unknown) {
    super(`--data-dir: ${file}: ${message}`, { cause });
    this.file = file;
  }
}

/** A journal of this size is replaced by the whole fleet: reading it again would take a second. */
const MAX_JOURNAL_BYTES = 16 * 1024 * 1024;

/** The part of a fleet that the folder needs. */
export type Kept = Pick<EmbeddedFleet, "snapshot" | "onChange">;

/**
 * The fleet's objects: all of them in one file, which is replaced atomically so that a crash leaves the old one, and
 * later changes in a journal.
 */
export class DataFolder {
  readonly folder: string;
  readonly #file: string;
  readonly #release: () => Promise<void>;
  #journal: Journal | undefined;
  #lastJournal = 0;

  private constructor(folder: string, release: () => Promise<void>) {
    this.folder = folder;
    this.#file = join(folder, "fleet.json");
    this.#release = release;
  }

  /**
   * Creates it if necessary, and locks it until it is closed. Throws if it cannot be written to, or another `up` holds
   * it.
   */
  static async open(folder: string, nowMs: number): Promise<DataFolder> {
    try {
      await makeFolder(resolve(folder));
      return new DataFolder(folder, await lockFolder(folder, nowMs));
    } catch (error) {
      if (error instanceof FolderInUseError) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new DataFolderError(folder, `cannot be used: ${why}. Use a folder that you may write to`, error);
    }
  }

  async close(): Promise<void> {
    this.#journal?.close();
    await this.#release();
  }

  /** Undefined: there is nothing yet. */
  async load(members: readonly string[]): Promise<FleetSnapshot | undefined> {
    let text: string;
    try {
      text = await readFile(this.#file, "utf8");
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw new DataFolderError(this.#file, `cannot be read: ${error instanceof Error ? error.message : error}`, error);
    }
    const snapshot = parse(this.#file, text);
    const kept = Object.keys(snapshot.members);
    if (kept.join() !== members.join()) {
      throw new DataFolderError(
        this.#file,
        `holds ${kept.length} clusters, not ${members.length}; use --clusters ${kept.length}, or another folder`,
      );
    }
    try {
      const { changes, last } = readJournals(this.folder, snapshot.journal ?? 0);
      this.#lastJournal = last;
      return withChanges(snapshot, changes);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new DataFolderError(this.folder, `its journal cannot be read: ${why}`, error);
    }
  }

  /** From now on no change is acknowledged before it is in the folder. `failed`: that no longer works. */
  async keep(fleet: Kept, failed: (error: unknown) => void): Promise<void> {
    const refuse = (error: unknown) => failed(this.#unwritable(error));
    this.#journal = new Journal(this.folder, this.#lastJournal, refuse);
    fleet.onChange((change) => this.#journal?.write(change));
    await this.save(fleet);
  }

  /** From time to time: flushes to the disk, and limits the size of the journal. */
  async sync(fleet: Kept): Promise<void> {
    try {
      await this.#journal?.sync();
    } catch (error) {
      throw this.#unwritable(error);
    }
    if ((this.#journal?.bytes ?? 0) > MAX_JOURNAL_BYTES) await this.save(fleet);
  }

  /** The whole current state. */
  async save(fleet: Kept): Promise<void> {
    const temporary = `${this.#file}.new`;
    try {
      // Both in one turn, so that every change is in one of them.
      const journal = this.#journal?.begin() ?? 0;
      const text = JSON.stringify({ ...fleet.snapshot(), journal });
      // The objects include Secrets.
      const handle = await open(temporary, "w", 0o600);
      try {
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, this.#file);
      this.#journal?.removeBefore(journal);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      throw this.#unwritable(error);
    }
  }

  #unwritable(error: unknown): DataFolderError {
    const why = error instanceof Error ? error.message : String(error);
    return new DataFolderError(this.#file, `cannot be written: ${why}`, error);
  }
}

/** One level after the other: Node's own recursive mkdir never ends below /proc, where no folder can be created. */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST" && (await stat(folder)).isDirectory()) return;
    if (code !== "ENOENT" || existsSync(dirname(folder))) throw error;
    await makeFolder(dirname(folder));
    await mkdir(folder, { mode: 0o700 });
  }
}

/** The fleet as it was saved, and the first journal that has what came after. */
type SavedFleet = FleetSnapshot & { readonly journal?: number };

function parse(file: string, text: string): SavedFleet {
  try {
    const value: unknown = JSON.parse(text);
    if (isSnapshot(value)) return value;
  } catch (error) {
    throw new DataFolderError(file, "is not JSON; delete it to start empty", error);
  }
  throw new DataFolderError(file, "is not a fleet of this version of Lockstep; delete it to start empty");
}

function isSnapshot(value: unknown): value is SavedFleet {
  return typeof value === "object" && value !== null && "format" in value && value.format === "lockstep-fleet/1";
}
