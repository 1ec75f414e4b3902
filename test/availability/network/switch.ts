/**
 * The network between places, in a process of its own so that no other work delays it. Each place has an HTTP proxy,
 * and whatever leaves the place goes through it: `CONNECT ADDRESS:PORT`. An instance's address names its place, so every
 * connection has a known link, from one place to another, which can be cut or slowed down.
 *
 * Addresses are 10.PLACE.ORDINAL.1. No packet is ever sent to one: an instance listens on loopback, and only the
 * proxies know where. They are no names, because etcd resolves names itself; and they are no loopback addresses,
 * because Go programs use no proxy for those.
 *
 * A cut link is silent, as a real one is: connections stay open, and nothing arrives until the link is mended.
 */
import { createServer, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { PROXY_PORT, type Request } from "./protocol.ts";

interface Link {
  cut: boolean;
  delayMs: number;
  readonly pipes: Set<Pipe>;
  /** New connections that wait for the link. */
  readonly waiting: Set<() => void>;
}

const links = new Map<string, Link>();

function linkOf(from: number, to: number): Link {
  const key = `${from}>${to}`;
  const known = links.get(key);
  if (known) return known;
  const made: Link = { cut: false, delayMs: 0, pipes: new Set(), waiting: new Set() };
  links.set(key, made);
  return made;
}

/** One direction of one connection. */
class Pipe {
  readonly #link: Link;
  readonly #to: Socket;
  readonly #held: { readonly chunk: Buffer | undefined; readonly atMs: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(link: Link, from: Socket, to: Socket) {
    this.#link = link;
    this.#to = to;
    link.pipes.add(this);
    from.on("data", (chunk: Buffer) => this.#take(chunk));
    from.on("end", () => this.#take(undefined));
    from.on("close", () => {
      this.#isClosed = true;
      this.flow();
    });
  }

  #take(chunk: Buffer | undefined): void {
    const { cut, delayMs } = this.#link;
    if (!cut && delayMs === 0 && this.#held.length === 0) {
      this.#pass(chunk);
      return;
    }
    this.#held.push({ chunk, atMs: performance.now() + delayMs });
    this.flow();
  }

  /** Passes on what is due, unless the link is cut. */
  flow(): void {
    clearTimeout(this.#timer);
    if (this.#link.cut) return;
    for (let next = this.#held[0]; next; next = this.#held[0]) {
      const waitMs = next.atMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.flow(), waitMs);
        return;
      }
      this.#held.shift();
      this.#pass(next.chunk);
    }
    // The other end learns that the sender broke off only when the link is no longer silent.
    if (!this.#isClosed) return;
    this.#to.destroySoon();
    this.#link.pipes.delete(this);
  }

  #pass(chunk: Buffer | undefined): void {
    if (this.#to.destroyed) return;
    if (chunk) this.#to.write(chunk);
    else this.#to.end();
  }
}

/** 10.2.3.1 is the instance 3 in place 2, and listens on the third byte 3 of the network's own addresses. */
function resolve(target: string, network: string): { place: number; host: string; port: number } | undefined {
  const match = /^10\.(\d+)\.(\d+)\.1:(\d+)$/.exec(target);
  if (!match) return undefined;
  return { place: Number(match[1]), host: `127.${network}.${match[2]}.1`, port: Number(match[3]) };
}

function serve(place: number, host: string): Promise<void> {
  const network = host.split(".")[1] ?? "";
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on("connect", (request: IncomingMessage, client: Socket) => {
    client.on("error", () => {});
    const target = resolve(request.url ?? "", network);
    if (!target) return void client.end("HTTP/1.1 404 Not Found\r\n\r\n");
    const [there, back] = [linkOf(place, target.place), linkOf(target.place, place)];
    // A client that gives up while it waits must not get a connection later: the other end would keep it for good.
    const giveUp = () => client.destroy();
    client.once("end", giveUp);
    const open = () => {
      if (client.destroyed) return;
      const upstream = connect({ host: target.host, port: target.port, localAddress: host, noDelay: true });
      upstream.on("error", () => client.destroy());
      upstream.once("connect", () => {
        if (client.destroyed) return void upstream.destroy();
        client.off("end", giveUp);
        client.setNoDelay(true);
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        new Pipe(there, client, upstream);
        new Pipe(back, upstream, client);
      });
    };
    const attempt = () => {
      if (there.cut || back.cut) (there.cut ? there : back).waiting.add(attempt);
      else if (there.delayMs + back.delayMs > 0) setTimeout(open, there.delayMs + back.delayMs);
      else open();
    };
    attempt();
  });
  return new Promise((done, failed) => {
    server.once("error", failed);
    server.listen(PROXY_PORT, host, done);
  });
}

process.on("disconnect", () => process.exit());
process.on("message", async (request: Request) => {
  if ("place" in request) await serve(request.place, request.host);
  else {
    const link = linkOf(request.from, request.to);
    link.cut = request.cut;
    link.delayMs = request.delayMs;
    for (const pipe of link.pipes) pipe.flow();
    const waiting = link.cut ? [] : [...link.waiting];
    for (const attempt of waiting) {
      link.waiting.delete(attempt);
      attempt();
    }
  }
  process.send?.(request.number);
});
