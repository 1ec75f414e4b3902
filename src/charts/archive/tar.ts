/** Reads a tar from bytes and writes one. Pure. Refuses whatever a chart or a folder of manifests does not need. */
import { RefusalError } from "../refusal.ts";

export interface ArchiveFile {
  /** Relative, with '/', without '.' and '..'. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** What may still be read; archives inside archives share one budget. */
export interface ArchiveBudget {
  entries: number;
  bytes: number;
  readonly fileBytes: number;
}

const BLOCK = 512;
/** Longer ones fail on common file systems. */
const MAX_PATH = 512;
const MAX_DEPTH = 32;

const REPACK = "create the archive again with 'helm package', or with tar from plain files and folders";

export function badArchive(what: string, remedy = REPACK): RefusalError {
  return new RefusalError("BadArchive", what, remedy);
}

/** The files of a tar; folders are implied by their files. `name` is the archive's, for messages. */
export function readTar(tar: Uint8Array, name: string, budget: ArchiveBudget): ArchiveFile[] {
  const files = new Map<string, ArchiveFile>();
  const folders = new Set<string>();
  let pax: PaxFields = {};
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const header = tar.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) return [...files.values()];
    const entry = readHeader(header, name);
    const size = pax.size ?? entry.size;
    const body = tar.subarray(at + BLOCK, at + BLOCK + size);
    if (body.length < size) throw badArchive(`${name} is cut off inside an entry`);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    if (entry.type === "x") pax = { ...pax, ...paxFields(body, name) };
    else if (entry.type === "L") pax = { ...pax, path: textUntilZero(body) };
    // A global header, as `git archive` writes one: it names a commit, no file.
    else if (entry.type !== "g") {
      const raw = pax.path ?? entry.path;
      pax = {};
      if (--budget.entries < 0) throw badArchive(`${name} has too many files and folders`);
      const path = checkedPath(raw, name);
      if (entry.type === "5") {
        if (path !== "") addFolder(path, files, folders, name);
        continue;
      }
      if (entry.type !== "0") throw badArchive(`${name} contains ${kindOf(entry.type)} '${raw}'`);
      if (path === "" || raw.endsWith("/")) throw badArchive(`${name} contains a file without a name`);
      if (size > budget.fileBytes) throw badArchive(`${name}: '${raw}' has more than ${budget.fileBytes} bytes`);
      budget.bytes -= size;
      if (budget.bytes < 0) throw badArchive(`${name} unpacks to too many bytes`);
      // Two programs may disagree on which of the two counts.
      if (files.has(path) || folders.has(path)) throw badArchive(`${name} contains '${raw}' twice`);
      addFolder(path.slice(0, Math.max(0, path.lastIndexOf("/"))), files, folders, name);
      files.set(path, { path, bytes: body });
    }
  }
  throw badArchive(`${name} has no end: it is cut off, or not a tar archive`);
}

/** A plain tar of these files, for a program that reads archives: it sees exactly what was checked. */
export function writeTar(files: readonly ArchiveFile[]): Buffer {
  const blocks: Uint8Array[] = [];
  for (const { path, bytes } of files) {
    const name = Buffer.from(path);
    if (name.length > 100) {
      const field = paxField("path", path);
      blocks.push(header("pax", field.length, "x"), field, padding(field.length));
    }
    blocks.push(header(name.subarray(0, 100), bytes.length, "0"), bytes, padding(bytes.length));
  }
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

interface PaxFields {
  readonly path?: string;
  readonly size?: number;
}

interface Header {
  readonly path: string;
  readonly size: number;
  readonly type: string;
}

function readHeader(block: Uint8Array, name: string): Header {
  const stated = octal(block, 148, 8);
  let sum = 0;
  for (let index = 0; index < BLOCK; index++) sum += index >= 148 && index < 156 ? 32 : (block[index] ?? 0);
  if (stated !== sum) throw badArchive(`${name} is not a tar archive, or it is damaged`);
  const size = octal(block, 124, 12);
  if (size === undefined) throw badArchive(`${name} contains an entry without a size`);
  const flag = String.fromCharCode(block[156] ?? 0);
  const isUstar = Buffer.from(block.subarray(257, 262)).toString("latin1") === "ustar";
  const prefix = isUstar && block[262] === 0 ? textUntilZero(block.subarray(345, 500)) : "";
  const own = textUntilZero(block.subarray(0, 100));
  const path = prefix === "" ? own : `${prefix}/${own}`;
  // Before tar knew types, a folder was a file whose name ends with '/'.
  const isFile = flag === "\0" || flag === "0" || flag === "7";
  return { path, size, type: isFile ? (path.endsWith("/") ? "5" : "0") : flag };
}

function octal(block: Uint8Array, at: number, length: number): number | undefined {
  const text = Buffer.from(block.subarray(at, at + length))
    .toString("latin1")
    .replaceAll(/[\0 ]+$/g, "")
    .trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : undefined;
}

function textUntilZero(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString("utf8");
}

/** Records of the form `LENGTH key=value\n`. */
function paxFields(body: Uint8Array, name: string): PaxFields {
  const fields: { path?: string; size?: number } = {};
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(32, at);
    const length = Number(Buffer.from(body.subarray(at, space < 0 ? at : space)).toString("latin1"));
    if (space < 0 || !Number.isInteger(length) || length <= space - at || at + length > body.length) {
      throw badArchive(`${name} contains a damaged extended header`);
    }
    const record = Buffer.from(body.subarray(space + 1, at + length - 1)).toString("utf8");
    const equals = record.indexOf("=");
    const key = record.slice(0, equals);
    if (key === "path") fields.path = record.slice(equals + 1);
    if (key === "size") fields.size = sizeOf(record.slice(equals + 1), name);
    if (key.startsWith("GNU.sparse")) throw badArchive(`${name} contains a sparse file`);
    at += length;
  }
  return fields;
}

function sizeOf(text: string, name: string): number {
  if (!/^\d{1,15}$/.test(text)) throw badArchive(`${name} contains an entry without a size`);
  return Number(text);
}

/** The path without `./`; empty for the root itself. */
function checkedPath(raw: string, name: string): string {
  const shown = JSON.stringify(raw.slice(0, 100));
  if (raw.length > MAX_PATH) throw badArchive(`${name} contains the path ${shown}..., which is too long`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  if (/[\\\0-\x1f\x7f\ufffd]/.test(raw))
    throw badArchive(`${name} contains the path ${shown}, with characters that are not allowed`);
  if (raw.startsWith("/") || /^[A-Za-z]:/.test(raw)) throw badArchive(`${name} contains the absolute path ${shown}`);
  const parts = raw
    .replace(/\/$/, "")
    .split("/")
    .filter((part) => part !== ".");
  if (parts.includes("..")) throw badArchive(`${name} contains the path ${shown}, which leaves the archive`);
  if (parts.length > 1 && parts.includes(""))
    throw badArchive(`${name} contains the path ${shown}, with an empty part`);
  if (parts.length > MAX_DEPTH) throw badArchive(`${name} contains the path ${shown}, which is too deep`);
  return parts.join("/");
}

function addFolder(path: string, files: ReadonlyMap<string, unknown>, folders: Set<string>, name: string): void {
  for (
    let folder = path;
    folder !== "" && !folders.has(folder);
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")))
  ) {
    if (files.has(folder)) throw badArchive(`${name} contains '${folder}' as a file and as a folder`);
    folders.add(folder);
  }
}

function kindOf(type: string): string {
  if (type === "1" || type === "2" || type === "K") return "the link";
  if (type === "3" || type === "4") return "the device";
  if (type === "6") return "the FIFO";
  return "an entry of an unknown type,";
}

function header(name: Uint8Array | string, size: number, type: "0" | "x"): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.set(typeof name === "string" ? Buffer.from(name) : name, 0);
  block.write("0000644\0", 100, "latin1");
  block.write("0000000\0", 108, "latin1");
  block.write("0000000\0", 116, "latin1");
  block.write(`${size.toString(8).padStart(11, "0")}\0`, 124, "latin1");
  block.write("00000000000\0", 136, "latin1");
  block.write("        ", 148, "latin1");
  block.write(type, 156, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

function paxField(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length = rest + String(length).length;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}
