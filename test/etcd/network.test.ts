/** The network between the places of a fleet, which can be cut. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Network } from "../availability/network/network.ts";
import { PROXY_PORT } from "../availability/network/protocol.ts";

describe("the network between places", () => {
  const network = new Network(["one", "other"]);
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    accepted.push(socket);
    socket.pipe(socket);
  });
  beforeEach(async () => {
    await network.start();
    server.listen(0, network.listen("etcd-0"));
    await once(server, "listening");
  });
  afterEach(async () => {
    for (const socket of accepted) socket.destroy();
    server.close();
    await network.stop();
  });

  /** To the server in the other place. */
  function dial(): Socket {
    const { port } = server.address() as AddressInfo;
    const socket = connect(PROXY_PORT, network.proxyHost("one"));
    socket.write(`CONNECT ${network.address("other", "etcd-0")}:${port} HTTP/1.1\r\n\r\n`);
    return socket;
  }

  it("opens no connection for a client that has given up while the link was cut", async () => {
    await network.cut("one", "other");
    const waiting = dial();
    waiting.end();
    waiting.resume();
    await once(waiting, "close");
    await network.mend("one", "other");
    const next = dial();
    const [answer] = await once(next, "data");
    expect(String(answer)).toMatch(/^HTTP\/1.1 200/);
    next.write("hello");
    expect(String((await once(next, "data"))[0])).toBe("hello");
    expect(accepted).toHaveLength(1);
    next.destroy();
  });
});
