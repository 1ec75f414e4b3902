import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ArchiveFile } from "../archive/tar.ts";

/** A folder of one run, removed with everything in it when the run ends, whatever happens. */
export class WorkFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async within<T>(parent: string, use: (folder: WorkFolder) => Promise<T>): Promise<T> {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    const folder = new WorkFolder(await mkdtemp(join(parent, "render-")));
    try {
      return await use(folder);
    } finally {
      await rm(folder.path, { recursive: true, force: true });
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
