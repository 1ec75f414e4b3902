import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { isJsonObject, type JsonObject } from "../../../src/runtime/index.ts";
import { PROXY_PORT, type Request } from "./protocol.ts";

/** Third bytes of the proxies' addresses; instances have the ones below. */
const FIRST_PROXY = 200;
const ASK_TIMEOUT_MS = 1_000;

type Without<T, K extends string> = T extends unknown ? Omit<T, K> : never;

/** Places, and the links between them, which can be cut or slowed down while real programs use them. */
export class Network {
  /** The second byte of all addresses, of its own so that two runs on one machine do not meet. */
  readonly byte = 16 + (process.pid % 200);
  readonly #places: readonly string[];
  readonly #answers = new Map<number, () => void>();
  readonly #cut = new Set<string>();
  readonly #delays = new Map<string, number>();
  #switch: ChildProcess | undefined;
  #number = 0;

  constructor(places: readonly string[]) {
    this.#places = places;
  }

  async start(): Promise<void> {
    const child = fork(new URL("./switch.ts", import.meta.url), { execArgv: ["--import", "tsx"] });
    this.#switch = child;
    child.on("message", (number: number) => {
      this.#answers.get(number)?.();
      this.#answers.delete(number);
    });
    await once(child, "spawn");
    for (const place of this.#places) await this.#send({ place: this.number(place), host: this.proxyHost(place) });
  }

  async stop(): Promise<void> {
    const child = this.#switch;
    if (!child || child.exitCode !== null) return;
    const exited = once(child, "exit");
    child.disconnect();
    await exited;
  }

  /** The second byte of the addresses in a place. */
  number(place: string): number {
    return this.#places.indexOf(place);
  }

  /** What others call an instance. */
  address(place: string, instance: string): string {
    return `10.${this.number(place)}.${ordinalOf(instance)}.1`;
  }

  /** Where an instance really listens. */
  listen(instance: string): string {
    return `127.${this.byte}.${ordinalOf(instance)}.1`;
  }

  /** The source address of everything that leaves a place. */
  proxyHost(place: string): string {
    return `127.${this.byte}.${FIRST_PROXY + this.number(place)}.1`;
  }

  proxy(place: string): string {
    return `${this.proxyHost(place)}:${PROXY_PORT}`;
  }

  /** Nothing arrives in either direction between the two any more. */
  async cut(one: string, other: string): Promise<void> {
    this.#cut.add(`${one}>${other}`).add(`${other}>${one}`);
    await Promise.all([this.#set(one, other), this.#set(other, one)]);
  }

  async mend(one: string, other: string): Promise<void> {
    for (const key of [`${one}>${other}`, `${other}>${one}`]) this.#cut.delete(key);
    await Promise.all([this.#set(one, other), this.#set(other, one)]);
  }

  /** From every other place. */
  async isolate(place: string): Promise<void> {
    for (const other of this.#others(place)) await this.cut(place, other);
  }

  async reconnect(place: string): Promise<void> {
    for (const other of this.#others(place)) await this.mend(place, other);
  }

  /** One way, between all places. */
  async delayAll(ms: number): Promise<void> {
    for (const from of this.#places) {
      for (const to of this.#others(from)) {
        this.#delays.set(`${from}>${to}`, ms);
        await this.#set(from, to);
      }
    }
  }

  /** Asks etcd's JSON API from a place. */
  async ask(place: string, address: string, path: string, body: JsonObject): Promise<JsonObject> {
    const signal = AbortSignal.timeout(ASK_TIMEOUT_MS);
    const socket = await tunnel(this.proxyHost(place), `${address}:2379`, signal);
    try {
      return await post(socket, `/v3/${path}`, body, signal);
    } finally {
      socket.destroy();
    }
  }

  #others(place: string): string[] {
    return this.#places.filter((each) => each !== place);
  }

  #set(from: string, to: string): Promise<void> {
    const key = `${from}>${to}`;
    return this.#send({
      from: this.number(from),
      to: this.number(to),
      cut: this.#cut.has(key),
      delayMs: this.#delays.get(key) ?? 0,
    });
  }

  #send(request: Without<Request, "number">): Promise<void> {
    const number = ++this.#number;
    return new Promise((resolve) => {
      this.#answers.set(number, resolve);
      this.#switch?.send({ ...request, number });
    });
  }
}

function ordinalOf(instance: string): string {
  return /\d+$/.exec(instance)?.[0] ?? "";
}

function tunnel(proxy: string, target: string, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: proxy, port: PROXY_PORT, method: "CONNECT", path: target, signal });
    request.once("connect", (answer, socket) => {
      if (answer.statusCode === 200) resolve(socket);
      else reject(new Error(`the proxy answered ${answer.statusCode}`));
    });
    request.once("error", reject);
    request.end();
  });
}

function post(socket: Socket, path: string, body: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = { host: "etcd", "content-length": Buffer.byteLength(text), connection: "close" };
    const request = httpRequest({ createConnection: () => socket, method: "POST", path, headers, signal }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.once("error", reject);
      answer.once("end", () => {
        const value: unknown = JSON.parse(Buffer.concat(chunks).toString() || "{}");
        const object = isJsonObject(value) ? value : {};
        if (answer.statusCode === 200) resolve(object);
        else reject(new Error(`${path}: ${object.message ?? answer.statusCode}`));
      });
    });
    request.once("error", reject);
    request.end(text);
  });
}
