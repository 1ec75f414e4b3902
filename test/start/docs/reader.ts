/** A reader who types what a page says: one shell for the page, in a folder that looks like a clone. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { missingIn, type Task } from "./markdown.ts";

const ROOT = new URL("../../..", import.meta.url).pathname;
/** What a clone has, and pages name. */
const CLONE = ["bin", "dist", "deploy", "docs", "examples", "node_modules", "package.json", "src"];
/** A block that hangs must fail. One of three demos takes half a minute, and several times that on a busy machine. */
const PATIENCE_MS = 240_000;
const STOP_PATIENCE_MS = 60_000;
const LOOK_MS = 50;
/** The exit codes of a program that was asked to stop. */
const STOPPED = new Set([0, 130]);

/** Thrown when a page is not true: names the page, the line, the command and what it printed. */
export class ReaderError extends Error {
  override readonly name = "ReaderError";
}

interface Started {
  readonly task: Extract<Task, { kind: "start" }>;
  readonly name: string;
}

export class Reader {
  readonly #page: string;
  readonly #folder: string;
  readonly #notes: string;
  readonly #shell: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #started: Started[] = [];
  #count = 0;

  /** `programs`: what is on PATH beside what the machine has, by name. */
  constructor(page: string, programs: Readonly<Record<string, string>>) {
    this.#page = page;
    this.#folder = mkdtempSync(join(tmpdir(), "lockstep-reader-"));
    this.#notes = join(this.#folder, ".reader");
    const path = join(this.#notes, "bin");
    mkdirSync(path, { recursive: true });
    for (const name of CLONE) symlinkSync(join(ROOT, name), join(this.#folder, name));
    for (const [name, program] of Object.entries(programs)) symlinkSync(program, join(path, name));
    const { KUBECONFIG: _, NO_COLOR: __, ...env } = process.env;
    this.#shell = spawn("bash", ["--noprofile", "--norc"], {
      cwd: this.#folder,
      env: { ...env, PATH: `${path}:${env.PATH}`, HOME: this.#folder },
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#ended = new Promise((resolve) => this.#shell.on("close", () => resolve()));
    // Jobs get process groups of their own, so that each can be stopped as Ctrl-C does it.
    this.#type("set -m; shopt -s expand_aliases");
  }

  async follow(task: Task): Promise<void> {
    const name = join(this.#notes, String(++this.#count));
    switch (task.kind) {
      case "skipped":
        return;
      case "file":
        mkdirSync(dirname(join(this.#folder, task.name)), { recursive: true });
        writeFileSync(join(this.#folder, task.name), task.text);
        return;
      case "run":
        return this.#run(task, name);
      case "start":
        return this.#start(task, name);
    }
  }

  async #run(task: Extract<Task, { kind: "run" }>, name: string): Promise<void> {
    const strict = task.exit === 0 ? "set -eo pipefail\n" : "";
    writeFileSync(`${name}.sh`, `${strict}${task.code}`);
    this.#type(`source ${name}.sh >${name}.out 2>&1 </dev/null; echo $? >${name}.exit; set +eo pipefail`);
    await this.#until(() => read(`${name}.exit`) !== "" || this.#shell.exitCode !== null, task, name);
    const exit = read(`${name}.exit`).trim();
    // With -e a failure ends the shell itself.
    if (exit !== String(task.exit))
      throw this.#wrong(task, name, `ended with ${exit || this.#shell.exitCode}, not ${task.exit}`);
    const missing = task.answer === undefined ? undefined : missingIn(read(`${name}.out`), task.answer);
    if (missing !== undefined) throw this.#wrong(task, name, `does not print '${missing}' where the page says so`);
  }

  async #start(task: Extract<Task, { kind: "start" }>, name: string): Promise<void> {
    writeFileSync(`${name}.sh`, task.code);
    this.#type(`(source ${name}.sh; echo $? >${name}.exit) >${name}.out 2>&1 </dev/null & echo $! >${name}.pid`);
    this.#started.push({ task, name });
    const said = () => read(`${name}.out`).includes(task.until);
    await this.#until(() => said() || read(`${name}.exit`) !== "", task, name);
    if (!said())
      throw this.#wrong(task, name, `ended with ${read(`${name}.exit`).trim()} before it said '${task.until}'`);
  }

  /** Stops what still runs, the last one first, as Ctrl-C does it. */
  async close(): Promise<void> {
    try {
      for (const { task, name } of this.#started.toReversed()) {
        const group = -Number(read(`${name}.pid`));
        const isGone = () => !isAlive(group);
        if (isGone()) continue;
        process.kill(group, "SIGINT");
        await this.#until(isGone, task, name, STOP_PATIENCE_MS);
        const exit = read(`${name}.exit`).trim();
        if (exit !== "" && !STOPPED.has(Number(exit)))
          throw this.#wrong(task, name, `ended with ${exit} when it was stopped`);
      }
    } finally {
      for (const { name } of this.#started) {
        const group = -Number(read(`${name}.pid`));
        if (group < 0 && isAlive(group)) process.kill(group, "SIGKILL");
      }
      this.#type("kill $(jobs -p) 2>/dev/null; exit");
      await this.#ended;
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  #type(line: string): void {
    if (this.#shell.exitCode === null) this.#shell.stdin?.write(`${line}\n`);
  }

  async #until(condition: () => boolean, task: Task, name: string, patienceMs = PATIENCE_MS): Promise<void> {
    const endMs = performance.now() + patienceMs;
    while (!condition()) {
      if (performance.now() > endMs) throw this.#wrong(task, name, `took longer than ${patienceMs / 1000} s`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  #wrong(task: Task, name: string, what: string): ReaderError {
    const code = "code" in task ? task.code.trim() : "";
    return new ReaderError(
      `${this.#page}:${task.line}: this ${what}:\n${code}\n--- it printed:\n${read(`${name}.out`)}`,
    );
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function isAlive(pid: number): boolean {
  if (pid === 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
