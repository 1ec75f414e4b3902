/** Finds what kustomize would fetch, before it runs: it has no switch against the network. Pure. */
import { posix } from "node:path";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import type { ArchiveFile } from "../archive/tar.ts";
import { readAllYaml, readYaml } from "../read/documents.ts";
import { RefusalError } from "../refusal.ts";

const FILE_NAMES = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/** Lists whose entries are files or folders; kustomize takes what does not exist for a remote address. */
const FOLDERS_OR_FILES = ["resources", "bases", "components"];
/** Also files or folders, but an entry may be YAML itself. */
const CONFIGURED = ["generators", "transformers", "validators"];
const MAX_FOLDERS = 1_000;

const REMOTE = /^(?:[a-z][a-z0-9+.-]*::?\/\/|[\w.-]+@[\w.-]+:|git::)/i;

export interface FolderFiles {
  /** The text of a file; undefined if there is none. */
  text(path: string): string | undefined;
  hasFolder(path: string): boolean;
}

export function scanFiles(files: readonly ArchiveFile[], path: string): void {
  const byPath = new Map(files.map((file) => [file.path, file.bytes]));
  const folders = new Set(files.flatMap((file) => foldersOf(file.path)));
  const text = (name: string) => {
    const bytes = byPath.get(name);
    return bytes && Buffer.from(bytes).toString("utf8");
  };
  scanKustomization({ text, hasFolder: (name) => folders.has(name) }, path);
}

function foldersOf(path: string): string[] {
  return path.split("/").map((_, index, parts) => parts.slice(0, index).join("/"));
}

/** Refuses a kustomization that needs anything outside the archive, by name. */
export function scanKustomization(files: FolderFiles, path: string): void {
  const waiting: Folder[] = [{ path: normalized(path, "the path"), configures: false }];
  const seen = new Set<string>();
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const id = `${folder.configures} ${folder.path}`;
    if (seen.has(id)) continue;
    seen.add(id);
    if (seen.size > MAX_FOLDERS) throw refused("the kustomization has too many folders", "split it");
    waiting.push(...scanFolder(files, folder, path));
  }
}

interface Folder {
  readonly path: string;
  /** What it builds are generators, transformers or validators: these read files themselves. */
  readonly configures: boolean;
}

function scanFolder(files: FolderFiles, { path: folder, configures }: Folder, start: string): Folder[] {
  const file = FILE_NAMES.map((name) => posix.join(folder, name)).find((name) => files.text(name) !== undefined);
  if (file === undefined) {
    const found = files.hasFolder(folder) || folder === "." ? "has no kustomization.yaml" : "is not in the archive";
    throw refused(
      `the folder '${folder}' ${found}`,
      folder === start ? "correct 'path'; it begins at the archive's root" : "add it to the archive",
    );
  }
  const kustomization = readYaml(files.text(file) ?? "");
  // kustomize may read what this parser does not, and would then fetch what was not scanned.
  if (!isJsonObject(kustomization)) throw refused(`${file} is not a YAML map`, "correct it");
  const folders: Folder[] = [];
  for (const field of [...FOLDERS_OR_FILES, ...CONFIGURED]) {
    const isConfigured = configures || CONFIGURED.includes(field);
    const place = `${file}: ${field}`;
    for (const entry of textsIn(kustomization[field])) {
      const isInline = entry.includes("\n") && CONFIGURED.includes(field);
      if (!isInline) {
        const found = local(files, entry, folder, place, true);
        folders.push(...found.map((each) => ({ path: each, configures: isConfigured })));
      }
      const text = isInline ? entry : files.text(posix.join(folder, entry));
      if (isConfigured && text !== undefined) scanConfiguration(text, place);
    }
  }
  const rest = Object.entries(kustomization).filter(
    ([key]) => !FOLDERS_OR_FILES.includes(key) && !CONFIGURED.includes(key),
  );
  for (const [key, value] of rest) if (!INLINE.has(key)) refuseRemote(value ?? null, `${file}: ${key}`);
  return folders;
}

/** A generator, a transformer or a validator: what it reads is not in the lists of the kustomization. */
function scanConfiguration(text: string, place: string): void {
  const documents = readAllYaml(text);
  if (!documents) throw refused(`${place} names a file that is not YAML`, "correct it");
  for (const document of documents) refuseRemote(document, place);
}

/** Fields whose texts are data, never addresses to read. */
const INLINE = new Set([
  "commonLabels",
  "commonAnnotations",
  "labels",
  "images",
  "vars",
  "metadata",
  "buildMetadata",
  "replicas",
]);

/** The folder to scan next, if the entry is one. */
function local(files: FolderFiles, entry: string, folder: string, place: string, mustExist: boolean): string[] {
  if (REMOTE.test(entry)) throw remote(entry, place);
  const target = normalized(posix.join(folder, entry), `${place}: '${entry}'`);
  if (entry.startsWith("/")) throw leaves(`${place}: '${entry}'`);
  if (files.text(target) !== undefined) return [];
  if (files.hasFolder(target)) return [target];
  if (mustExist) throw remote(entry, place);
  return [];
}

/** Everything that is a text at a place where kustomize reads files: `path`, `files`, `envs`, or a plain list. */
function refuseRemote(value: Json, place: string): void {
  if (typeof value === "string") {
    // `files` entries may be `key=address`.
    const address = value.includes("\n") ? "" : value.replace(/^[\w.-]+=/, "");
    if (REMOTE.test(address)) throw remote(address, place);
  } else if (Array.isArray(value)) for (const item of value) refuseRemote(item, place);
  else if (isJsonObject(value)) refuseRemoteFields(value, place);
}

/** `literals` and an inline `patch` are data. */
function refuseRemoteFields(value: JsonObject, place: string): void {
  for (const [key, item] of Object.entries(value)) {
    if (key !== "literals" && key !== "patch" && key !== "options" && item !== undefined)
      refuseRemote(item, `${place}.${key}`);
  }
}

function textsIn(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function normalized(path: string, what: string): string {
  const clean = posix.normalize(path === "" ? "." : path).replace(/(?<=.)\/$/, "");
  if (clean === ".." || clean.startsWith("../") || clean.startsWith("/")) throw leaves(what);
  return clean;
}

function leaves(what: string): RefusalError {
  return refused(`${what} leaves the archive`, "keep everything that the kustomization needs in one archive");
}

function remote(entry: string, place: string): RefusalError {
  const message = `${place} has ${JSON.stringify(entry.slice(0, 200))}, which is not in the archive; remote addresses are not fetched`;
  return refused(message, "add it to the archive ('kustomize localize' downloads what is remote)");
}

function refused(message: string, remedy: string): RefusalError {
  return new RefusalError("RenderFailed", message, remedy);
}
