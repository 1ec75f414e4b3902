import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { FleetSnapshot } from "../embedded/index.ts";

/** Thrown when what `--data-dir` holds cannot be used. */
export class DataFolderError extends Error {
  override readonly name = "DataFolderError";
  readonly file: string;

  constructor(file: string, message: string, cause?: unknown) {
    super(`--data-dir: ${file}: ${message}`, { cause });
    this.file = file;
  }
}

/** The fleet's objects in one file, replaced as a whole so that a crash leaves the old one. */
export class DataFolder {
  readonly #folder: string;
  readonly #file: string;
  #saved = "";

  constructor(folder: string) {
    this.#folder = folder;
    this.#file = join(folder, "fleet.json");
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
    this.#saved = text;
    return snapshot;
  }

  async save(snapshot: FleetSnapshot): Promise<void> {
    const text = JSON.stringify(snapshot);
    if (text === this.#saved) return;
    const temporary = `${this.#file}.new`;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    try {
      // Secrets are among the objects.
      const handle = await open(temporary, "w", 0o600);
      try {
        await handle.writeFile(text);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, this.#file);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      throw new DataFolderError(
        this.#file,
        `cannot be written: ${error instanceof Error ? error.message : error}`,
        error,
      );
    }
    this.#saved = text;
  }
}

function parse(file: string, text: string): FleetSnapshot {
  try {
    const value: unknown = JSON.parse(text);
    if (isSnapshot(value)) return value;
  } catch (error) {
    throw new DataFolderError(file, "is not JSON; delete it to begin anew", error);
  }
  throw new DataFolderError(file, "is not a fleet of this version of Lockstep; delete it to begin anew");
}

function isSnapshot(value: unknown): value is FleetSnapshot {
  return typeof value === "object" && value !== null && "format" in value && value.format === "lockstep-fleet/1";
}
