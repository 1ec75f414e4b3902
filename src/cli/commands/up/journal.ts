/** The changes since the fleet was saved as a whole: a line per change, written before the change is acknowledged. */
import { closeSync, fdatasync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { FleetChange, FleetSnapshot } from "../../../embedded/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";

const NAME = /^journal\.(\d+)$/;

/** One file of changes. A new one starts whenever the fleet is saved as a whole. */
export class Journal {
  readonly #folder: string;
  readonly #failed: (error: unknown) => void;
  #number: number;
  #file: number | undefined;
  #bytes = 0;

  constructor(folder: string, number: number, failed: (error: unknown) => void) {
    this.#folder = folder;
    this.#number = number;
    this.#failed = failed;
  }

  /** Of the file that is being written. */
  get bytes(): number {
    return this.#bytes;
  }

  /** From now on, everything goes into a new file, whose number is returned. */
  begin(): number {
    this.close();
    this.#number++;
    // The objects include Secrets.
    this.#file = openSync(join(this.#folder, `journal.${this.#number}`), "w", 0o600);
    this.#bytes = 0;
    return this.#number;
  }

  /** Passed to the operating system when it returns: if the process is killed afterwards, it is not lost. */
  write(change: FleetChange): void {
    if (this.#file === undefined) return;
    try {
      this.#bytes += writeSync(this.#file, `${JSON.stringify(change)}\n`);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** On the disk when it resolves. */
  async sync(): Promise<void> {
    if (this.#file !== undefined) await promisify(fdatasync)(this.#file);
  }

  /** Removes the files that the saved fleet makes superfluous. */
  removeBefore(number: number): void {
    for (const each of journalsIn(this.#folder)) {
      if (each < number) rmSync(join(this.#folder, `journal.${each}`), { force: true });
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

function journalsIn(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/** The changes from that file on, and the number of the last one. An incomplete line was never acknowledged. */
export function readJournals(folder: string, from: number): { changes: FleetChange[]; last: number } {
  const numbers = journalsIn(folder).filter((number) => number >= from);
  const changes = numbers.flatMap((number) => {
    const lines = readFileSync(join(folder, `journal.${number}`), "utf8").split("\n");
    return lines.slice(0, -1).map((line): FleetChange => JSON.parse(line));
  });
  return { changes, last: numbers.at(-1) ?? from };
}

/** The fleet after these changes. */
export function withChanges(snapshot: FleetSnapshot, changes: readonly FleetChange[]): FleetSnapshot {
  const servers = new Map(
    [["", snapshot.hub] as const, ...Object.entries(snapshot.members)].map(([name, server]) => [
      name,
      {
        version: server.resourceVersion,
        objects: new Map(server.objects.map((entry) => [keyOf(entry.resource, entry.object.metadata), entry])),
      },
    ]),
  );
  for (const { server, resource, isDeleted, object, resourceVersion } of changes) {
    const state = servers.get(server);
    // A change that the saved fleet already contains has no effect.
    if (!state || resourceVersion <= state.version) continue;
    state.version = resourceVersion;
    const key = keyOf(resource, object.metadata);
    if (isDeleted) state.objects.delete(key);
    else state.objects.set(key, { resource, object });
  }
  const restored = (name: string, server: FleetSnapshot["hub"]) => {
    const state = servers.get(name);
    return state ? { ...server, resourceVersion: state.version, objects: [...state.objects.values()] } : server;
  };
  const members = Object.entries(snapshot.members).map(([name, server]) => [name, restored(name, server)] as const);
  return { ...snapshot, hub: restored("", snapshot.hub), members: Object.fromEntries(members) };
}

function keyOf(resource: string, metadata: unknown): string {
  const { namespace = "", name } = isJsonObject(metadata) ? metadata : {};
  return `${resource}|${namespace}|${name}`;
}
