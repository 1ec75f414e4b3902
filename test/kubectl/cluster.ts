import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiServer, authorizerOf, startSecureFront, writeKubeconfig } from "../../src/apiserver/index.ts";
import { silentLog, systemClock, systemRandom } from "../../src/runtime/index.ts";
import { findKubectl } from "./find.ts";

/** How one run of kubectl ended. */
export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** An object as kubectl prints it: what every object has, and the rest for the test to look at. */
export interface PrintedObject {
  readonly metadata: { name: string; uid: string; resourceVersion: string; generation: number; managedFields: Owned[] };
  readonly spec?: unknown;
  readonly data?: Record<string, string>;
}

interface Owned {
  readonly manager: string;
  readonly operation: string;
}

/** A kubectl that runs until it is stopped: `get -w`, `wait`. */
export class RunningKubectl {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Run>;
  #stdout = "";
  #stderr = "";
  readonly #waiting: { text: string | RegExp; resolve: () => void }[] = [];

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stdout.on("data", (data) => {
      this.#stdout += data;
      for (const each of [...this.#waiting]) {
        if (!contains(this.#stdout, each.text)) continue;
        this.#waiting.splice(this.#waiting.indexOf(each), 1);
        each.resolve();
      }
    });
    child.stderr.on("data", (data) => {
      this.#stderr += data;
    });
    this.ended = new Promise((resolve) =>
      child.on("close", (code) => resolve({ code, stdout: this.#stdout, stderr: this.#stderr })),
    );
  }

  get stdout(): string {
    return this.#stdout;
  }

  /** Until this text has been printed; fails if kubectl ends without. */
  async prints(text: string | RegExp): Promise<void> {
    if (contains(this.#stdout, text)) return;
    const printed = new Promise<void>((resolve) => this.#waiting.push({ text, resolve }));
    const ended = this.ended.then((run) => {
      if (!contains(run.stdout, text)) {
        throw new Error(`kubectl ended (${run.code}) before it printed ${text}:\n${run.stdout}${run.stderr}`);
      }
    });
    await Promise.race([printed, ended]);
  }

  /** Ends it as Ctrl-C does, by its own id. */
  async stop(): Promise<Run> {
    this.#child.kill("SIGINT");
    return await this.ended;
  }
}

/** The server under test: its address, and how to end it. */
interface Backend {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The kubeconfig of a real Kubernetes to run the suite against instead, with the contexts `hub` (an administrator),
 * `viewer` (may read pods) and `intruder` (a wrong token): shows that what is expected here is what Kubernetes does.
 */
const REAL_SERVER = process.env.LOCKSTEP_KUBECTL_KUBECONFIG;

/** One API server on HTTPS, and the real kubectl with a kubeconfig and caches of its own. */
export class Cluster {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly url: string;
  readonly #backend: Backend;
  readonly #program: string;
  readonly #running = new Set<ChildProcessWithoutNullStreams>();

  private constructor(backend: Backend, folder: string, program: string) {
    this.folder = folder;
    this.kubeconfig = join(folder, "kubeconfig");
    this.url = backend.url;
    this.#backend = backend;
    this.#program = program;
  }

  /** `server`: this one, instead of an empty one of its own. */
  static async start(server?: ApiServer): Promise<Cluster> {
    const { path } = await findKubectl();
    const folder = mkdtempSync(join(tmpdir(), "lockstep-kubectl-"));
    const kubeconfig = join(folder, "kubeconfig");
    try {
      const backend =
        REAL_SERVER && !server ? copyKubeconfig(REAL_SERVER, kubeconfig) : await startServer(kubeconfig, server);
      return new Cluster(backend, folder, path);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Ends every kubectl that still runs, the server, and removes all files. */
  async close(): Promise<void> {
    for (const child of this.#running) child.kill("SIGKILL");
    await this.#backend.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Starts kubectl and returns at once. */
  spawn(args: readonly string[], options: { stdin?: string; env?: Record<string, string> } = {}): RunningKubectl {
    const child = spawn(this.#program, args, {
      cwd: this.folder,
      env: {
        PATH: process.env.PATH,
        HOME: this.folder,
        KUBECONFIG: this.kubeconfig,
        KUBECACHEDIR: join(this.folder, "cache"),
        ...options.env,
      },
    });
    this.#running.add(child);
    child.on("close", () => this.#running.delete(child));
    // kubectl may end before it has read its input; that is its business.
    child.stdin.on("error", () => {});
    child.stdin.end(options.stdin ?? "");
    return new RunningKubectl(child);
  }

  /** Runs kubectl to its end, whatever that is. Arguments are split at spaces when given as one text. */
  async run(
    args: string | readonly string[],
    options: { stdin?: string; env?: Record<string, string> } = {},
  ): Promise<Run> {
    return await this.spawn(typeof args === "string" ? args.split(/\s+/) : args, options).ended;
  }

  /** Runs kubectl, which must succeed; gives what it printed. */
  async kubectl(args: string | readonly string[], stdin?: string): Promise<string> {
    const run = await this.run(args, stdin === undefined ? {} : { stdin });
    if (run.code !== 0) throw new Error(`kubectl ${args} exited with ${run.code}:\n${run.stderr}${run.stdout}`);
    return run.stdout;
  }

  /** Runs kubectl, which must fail; gives what it said about it. */
  async refused(args: string | readonly string[], stdin?: string): Promise<string> {
    const run = await this.run(args, stdin === undefined ? {} : { stdin });
    if (run.code === 0) throw new Error(`kubectl ${args} should have failed, but printed:\n${run.stdout}`);
    return run.stderr;
  }

  /** The object kubectl prints. */
  async json(args: string): Promise<PrintedObject> {
    return JSON.parse(await this.kubectl(`${args} -o json`));
  }

  /** A namespace of the test's own, so that tests do not see each other. */
  async namespace(name: string): Promise<string> {
    await this.kubectl(`create namespace ${name}`);
    return name;
  }

  file(name: string, text: string, mode = 0o644): string {
    const path = join(this.folder, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, text, { mode });
    return path;
  }
}

function contains(printed: string, text: string | RegExp): boolean {
  return typeof text === "string" ? printed.includes(text) : text.test(printed);
}

async function startServer(kubeconfig: string, given: ApiServer | undefined): Promise<Backend> {
  const authorizer = authorizerOf([{ subject: "viewer", verbs: ["get", "list", "watch"], resources: ["pods"] }]);
  const server = given ?? new ApiServer({ clock: systemClock, random: systemRandom, log: silentLog, authorizer });
  const front = await startSecureFront({
    name: "hub",
    server,
    clock: systemClock,
    tokens: [{ token: "viewer-token", identity: { name: "viewer", groups: [] } }],
  });
  const context = await front.context();
  const withToken = (name: string, token: string) => ({ ...context, name, credentials: { token } });
  await writeKubeconfig(kubeconfig, [
    context,
    withToken("viewer", "viewer-token"),
    withToken("intruder", "wrong-token"),
  ]);
  return front;
}

function copyKubeconfig(from: string, to: string): Backend {
  copyFileSync(from, to);
  const url = /server: (\S+)/.exec(readFileSync(from, "utf8"))?.[1] ?? "";
  return { url, close: async () => {} };
}
