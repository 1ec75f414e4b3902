import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ArchiveFile } from "../archive/tar.ts";

const PREFIX = "render-";
/** Far longer than any run takes. */
const LEFT_BEHIND_MS = 60 * 60 * 1000;

/** A folder of one run, removed with everything in it when the run ends, whatever happens. */
export class WorkFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async within<T>(parent: string, use: (folder: WorkFolder) => Promise<T>): Promise<T> {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    const folder = new WorkFolder(await mkdtemp(join(parent, PREFIX)));
    try {
      return await use(folder);
    } finally {
      await rm(folder.path, { recursive: true, force: true });
    }
  }

  /** Removes what processes that were killed have left. What is younger may be another process's run. */
  static async sweep(parent: string, nowMs: number): Promise<void> {
    for (const name of await readdir(parent).catch(() => [])) {
      const path = join(parent, name);
      const changedMs = await stat(path).then(
        (found) => found.mtimeMs,
        () => nowMs,
      );
      if (name.startsWith(PREFIX) && nowMs - changedMs > LEFT_BEHIND_MS)
        await rm(path, { recursive: true, force: true });
    }
  }

  /** A folder inside, and its path. */
  async makeFolder(name: string): Promise<string> {
    const path = join(this.path, name);
    await mkdir(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** `name` comes from this room, or from a checked archive. Returns the path. */
  async write(name: string, content: Uint8Array | string): Promise<string> {
    const path = join(this.path, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, content, { mode: 0o600, flag: "wx" });
    return path;
  }

  async writeAll(below: string, files: readonly ArchiveFile[]): Promise<string> {
    for (const { path, bytes } of files) await this.write(join(below, path), bytes);
    return join(this.path, below);
  }
}
