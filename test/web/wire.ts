import { connect, createServer, type Server, type Socket } from "node:net";

/** A TCP connection that can be cut and mended, on a port of its own. */
export class Wire {
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #isCut = false;
  #to = 0;
  port = 0;

  async open(to: number): Promise<void> {
    this.#to = to;
    const server = createServer((near) => {
      if (this.#isCut) return void near.destroy();
      const far = connect(this.#to, "127.0.0.1");
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.pipe(other);
        one.on("error", () => {});
        one.on("close", () => {
          this.#sockets.delete(one);
          other.destroy();
        });
      }
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (typeof address === "object" && address !== null) this.port = address.port;
  }

  /** New connections go to another port. */
  lead(to: number): void {
    this.#to = to;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    const server = this.#server;
    if (server) await new Promise((resolve) => server.close(resolve));
  }
}
