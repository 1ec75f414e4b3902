/** One `up` at a time on a data folder: a file there names the process that holds it. */
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { identityOf, isAlive, type ProcessIdentity } from "../../../embedded/process/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";

interface Holder extends ProcessIdentity {
  readonly host: string;
  /** RFC 3339. */
  readonly since: string;
}

/** Thrown when another `up` uses the folder. */
export class FolderInUseError extends Error {
  override readonly name = "FolderInUseError";
}

/** Two processes that find the same leftover file may collide; no more rounds than this are needed. */
const ATTEMPTS = 5;

/** Locks the folder, and returns the function that unlocks it. */
export async function lockFolder(folder: string, nowMs: number): Promise<() => Promise<void>> {
  const file = join(folder, "lock");
  const identity = identityOf(process.pid) ?? { pid: process.pid, started: "" };
  const holder: Holder = { ...identity, host: hostname(), since: new Date(nowMs).toISOString() };
  const own = `${file}.${process.pid}`;
  // Linked into its place as a whole: a reader never sees half of it, and of two only one succeeds.
  await writeFile(own, JSON.stringify(holder), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (await isLinked(own, file)) return () => rm(file, { force: true });
      const found = await readHolder(file);
      if (found.holder && isHeld(found.holder)) throw inUse(folder, file, found.holder);
      await removeStale(file, `${own}.stale`, found.text);
    }
  } finally {
    await rm(own, { force: true });
  }
  throw new FolderInUseError(`--data-dir ${folder}: another 'up' is starting on it at this moment; try again`);
}

function inUse(folder: string, file: string, { pid, host, since }: Holder): FolderInUseError {
  const where = host === hostname() ? "" : ` on ${host}`;
  const remedy = host === hostname() ? "stop it" : `stop it (if that machine is gone for good, delete ${file})`;
  return new FolderInUseError(
    `--data-dir ${folder} is used by another 'up': process ${pid}${where}, since ${since}. Use its fleet, ${remedy}, or give another folder`,
  );
}

/** A process of another machine cannot be checked. */
function isHeld(holder: Holder): boolean {
  return holder.host !== hostname() || isAlive(holder);
}

async function isLinked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** Removes the file if it still has the content that was read; another process's newer file is put back. */
async function removeStale(file: string, aside: string, text: string): Promise<void> {
  try {
    await rename(file, aside);
  } catch {
    return; // another one was faster
  }
  if ((await readFile(aside, "utf8")) !== text) await isLinked(aside, file);
  await rm(aside, { force: true });
}

async function readHolder(file: string): Promise<{ text: string; holder: Holder | undefined }> {
  let text = "";
  try {
    text = await readFile(file, "utf8");
    const value: unknown = JSON.parse(text);
    if (!isJsonObject(value)) return { text, holder: undefined };
    const { pid, started, host, since } = value;
    const isWhole = typeof pid === "number" && typeof started === "string" && typeof host === "string";
    return { text, holder: isWhole ? { pid, started, host, since: String(since) } : undefined };
  } catch {
    return { text, holder: undefined };
  }
}
