import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { ClusterConnection } from "../../kube/index.ts";
import type { Clock, Random } from "../../runtime/index.ts";
import type { Answer, Listening } from "./listen.ts";

/** Everything that a command uses outside of itself, so that tests run commands in-process. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Whether a question can be asked. */
  readonly canAsk: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How the user started the program: 'lockstep', or 'kubectl lockstep'. */
  readonly program: string;
  ask(question: string): Promise<string>;
  /** `-` is standard input. Throws what node:fs throws. */
  readFile(path: string): string;
  /** Creates the folders above it. Throws what node:fs throws. */
  writeFile(path: string, text: string): void;
  /** Aborts on Ctrl-C and SIGTERM. Only used by commands that run until they are stopped. */
  interrupted(): AbortSignal;
  clock(): Promise<Clock>;
  random(): Promise<Random>;
  /** Answers GET requests at an address (host:port) until it is closed. */
  listen(address: string, answer: (path: string) => Answer): Promise<Listening>;
  connect(options: { kubeconfig?: string | undefined; context?: string | undefined }): Promise<ClusterConnection>;
}

export interface Output {
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly rows: number;
  write(text: string): void;
}

const STANDARD_INPUT = 0;
/** For outputs that are not a terminal, and terminals that do not know their size. */
const DEFAULT_COLUMNS = 120;
const DEFAULT_ROWS = 50;

export function systemIo(): Io {
  const { stdin, stdout, stderr, env, argv } = process;
  // `lockstep status | head`: the reader has closed the pipe.
  stdout.on("error", (error) => {
    if ("code" in error && error.code === "EPIPE") process.exit(0);
    throw error;
  });
  let standardInput: string | undefined;
  return {
    stdout: outputTo(stdout),
    stderr: outputTo(stderr),
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    env,
    program: /kubectl[-_]lockstep$/.test(argv[1] ?? "") ? "kubectl lockstep" : "lockstep",
    async ask(question) {
      const { createInterface } = await import("node:readline/promises");
      const lines = createInterface({ input: stdin, output: stderr });
      try {
        return await lines.question(question);
      } finally {
        lines.close();
      }
    },
    readFile(path) {
      if (path !== "-") return readFileSync(path, "utf8");
      // It can be read only once, and a command may look at its files twice.
      standardInput ??= readFileSync(STANDARD_INPUT, "utf8");
      return standardInput;
    },
    writeFile(path, text) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    },
    interrupted() {
      const stop = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
      }
      return stop.signal;
    },
    clock: async () => (await import("../../runtime/index.ts")).systemClock,
    random: async () => (await import("../../runtime/index.ts")).systemRandom,
    listen: async (address, answer) => (await import("./listen.ts")).listen(address, answer),
    async connect(options) {
      const [{ connectCluster }, clock] = await Promise.all([import("../../kube/index.ts"), this.clock()]);
      return connectCluster({ clock, ...options });
    },
  };
}

function outputTo(stream: NodeJS.WriteStream): Output {
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.columns || DEFAULT_COLUMNS;
    },
    get rows() {
      return stream.rows || DEFAULT_ROWS;
    },
    write: (text) => void stream.write(text),
  };
}

/** What decides about colours. */
export interface Face {
  readonly stdout: Pick<Output, "isTerminal">;
  readonly env: Io["env"];
}

/** Colours only on a terminal, and not if the user disabled them. */
export function wantsColour({ stdout, env }: Face): boolean {
  return stdout.isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
}
