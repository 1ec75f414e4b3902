import { join } from "node:path";
import type { ArchiveFile } from "../archive/tar.ts";
import { kustomizeError } from "../helm/message.ts";
import { objectsFromText, type TextReader } from "../read/from-text.ts";
import { RefusalError } from "../refusal.ts";
import { WorkFolder } from "../run/folder.ts";
import type { ProgramRunner } from "../run/program.ts";
import type { RenderedObject } from "../types.ts";
import { type FolderFiles, scanKustomization } from "./scan.ts";

export interface KustomizeTools {
  readonly program: string;
  readonly workFolder: string;
  readonly runner: ProgramRunner;
  readonly reader: TextReader;
}

export interface KustomizeSource {
  readonly files: readonly ArchiveFile[];
  /** Of the folder to build, from the archive's root. */
  readonly path: string;
  readonly namespace: string;
}

/** Builds a folder of a checked archive. The flags that would allow programs, helm or files elsewhere are never given. */
export async function buildKustomization(
  { program, workFolder, runner, reader }: KustomizeTools,
  { files, path, namespace }: KustomizeSource,
  signal: AbortSignal,
): Promise<RenderedObject[]> {
  scanKustomization(folderFiles(files), path);
  return WorkFolder.within(workFolder, async (folder) => {
    const root = await folder.writeAll("source", files);
    const output = await runner.run({ program, args: ["build", join(root, path)], folder }, signal);
    if (output.exitCode !== 0) {
      const message = kustomizeError(output.stderr, { [`${root}/`]: "", [root]: "." });
      throw new RefusalError("RenderFailed", message, "correct the kustomization; 'kustomize build' shows the same");
    }
    return objectsFromText(reader, output.stdout.toString("utf8"), { hasHooks: false, namespace }, signal);
  });
}

function folderFiles(files: readonly ArchiveFile[]): FolderFiles {
  const byPath = new Map(files.map((file) => [file.path, file.bytes]));
  const folders = new Set(
    files.flatMap(({ path }) => path.split("/").map((_, index, parts) => parts.slice(0, index).join("/"))),
  );
  return {
    text: (path) => {
      const bytes = byPath.get(path);
      return bytes && Buffer.from(bytes).toString("utf8");
    },
    hasFolder: (path) => folders.has(path),
  };
}
