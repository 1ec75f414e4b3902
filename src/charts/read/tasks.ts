/** What may be done in a thread of its own. Pure. */
import type { ArchiveFile } from "../archive/tar.ts";
import { scanFiles } from "../kustomize/scan.ts";
import { RefusalError } from "../refusal.ts";
import { type ReadResult, readDocuments } from "./documents.ts";

export type Task =
  | { readonly kind: "read"; readonly text: string }
  /** Looks for what a kustomization would fetch. */
  | { readonly kind: "scan"; readonly files: readonly ArchiveFile[]; readonly path: string };

/** Refusals travel as data. */
export function perform(task: Task): ReadResult {
  if (task.kind === "read") return readDocuments(task.text);
  try {
    scanFiles(task.files, task.path);
    return { kind: "read", documents: [] };
  } catch (error) {
    if (error instanceof RefusalError) return { kind: "invalid", message: error.message, remedy: error.remedy };
    throw error;
  }
}
