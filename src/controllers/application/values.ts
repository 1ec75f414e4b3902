import { createHash } from "node:crypto";
import { type YamlRead, YamlReader } from "../../charts/index.ts";
import { FileProblem, readYamlValue } from "../../interpret/index.ts";
import { type Clock, LruMap } from "../../runtime/index.ts";

/** Reads values that are stored as YAML. Undefined: they are being read; `changed` is called with the key then. */
export type ReadValues = (key: string, tenant: string, text: string) => YamlRead | undefined;

export interface ValuesOptions {
  readonly clock: Clock;
  readonly changed: (key: string) => void;
  readonly signal: AbortSignal;
}

/** Most values are smaller. Hostile ones of this size take a tenth of a second, once. */
const AT_ONCE_CHARACTERS = 8 * 1024;
/** A quoted text that continues without indentation means reading the whole again. */
const MAX_REINDENTED_LINES = 5;
/** More than one application can name, so that what it has just read is never forgotten. */
const REMEMBERED_MAX = 64;

/** Each content is read once, however often its application is looked at, and large ones in the background. */
export class Values {
  readonly #options: ValuesOptions;
  readonly #reader: YamlReader;
  /** By application and digest; undefined: it is being read. */
  readonly #known = new Map<string, LruMap<string, { read?: YamlRead }>>();

  constructor(options: ValuesOptions) {
    this.#options = options;
    this.#reader = new YamlReader(options.clock);
  }

  readonly read: ReadValues = (key, tenant, text) => {
    const own = this.#known.get(key) ?? new LruMap<string, { read?: YamlRead }>(REMEMBERED_MAX);
    this.#known.set(key, own);
    const digest = createHash("sha256").update(text).digest("hex");
    const known = own.get(digest);
    if (known) return known.read;
    if (text.length <= AT_ONCE_CHARACTERS) {
      const read = readAtOnce(key, tenant, text);
      own.set(digest, { read });
      return read;
    }
    const entry: { read?: YamlRead } = {};
    own.set(digest, entry);
    void this.#readAside(key, tenant, text, entry);
    return undefined;
  };

  forget(key: string): void {
    this.#known.delete(key);
  }

  async #readAside(key: string, tenant: string, text: string, entry: { read?: YamlRead }): Promise<void> {
    const { signal, changed } = this.#options;
    try {
      entry.read = await this.#reader.read(text, tenant, signal);
    } catch (error) {
      entry.read = { kind: "invalid", message: error instanceof Error ? error.message : String(error) };
    }
    if (!signal.aborted) changed(key);
  }
}

export const readAtOnce = ((_key, _tenant, text) => {
  try {
    return { kind: "read", value: readYamlValue("", text, MAX_REINDENTED_LINES) ?? {} };
  } catch (error) {
    if (error instanceof FileProblem) return { kind: "invalid", message: `line ${error.line ?? 1}: ${error.reason}` };
    return { kind: "invalid", message: error instanceof Error ? error.message : String(error) };
  }
}) satisfies ReadValues;
