import { join } from "node:path";
import type { ArchiveFile } from "../archive/tar.ts";
import { kustomizeError } from "../helm/message.ts";
import { objectsFromText, type TextReader } from "../read/from-text.ts";
import { aside } from "../read/thread.ts";
import { RefusalError } from "../refusal.ts";
import { WorkFolder } from "../run/folder.ts";
import type { ProgramRunner } from "../run/program.ts";
import type { RenderedObject } from "../types.ts";

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
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const scanned = await aside({ kind: "scan", files, path }, size, reader.clock, signal);
  if (scanned.kind === "invalid") throw new RefusalError("RenderFailed", scanned.message, scanned.remedy ?? "");
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
