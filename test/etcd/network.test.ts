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
    for (const socket of accepted.splice(0)) socket.destroy();
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

  /** A connection that the proxy has answered. */
  async function opened(): Promise<Socket> {
    const socket = dial();
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1.1 200/);
    return socket;
  }

  it("holds back what is sent over a cut link, in both directions, and delivers it in order when the link is mended", async () => {
    const socket = await opened();
    const [there] = accepted;
    const [seenThere, seenHere]: [string[], string[]] = [[], []];
    there?.on("data", (data) => seenThere.push(String(data)));
    socket.on("data", (data) => seenHere.push(String(data)));
    await network.cut("one", "other");
    socket.write("a");
    there?.write("1");
    // A connection over another link, from the server's place to itself, shows that the network had its turn.
    const inside = connect(PROXY_PORT, network.proxyHost("other"));
    const { port } = server.address() as AddressInfo;
    inside.write(`CONNECT ${network.address("other", "etcd-0")}:${port} HTTP/1.1\r\n\r\n`);
    await once(inside, "data");
    inside.write("passes");
    expect(String((await once(inside, "data"))[0])).toBe("passes");
    expect([seenThere, seenHere]).toEqual([[], []]);
    socket.write("b");
    await network.mend("one", "other");
    await expect.poll(() => [seenThere.join(""), seenHere.join("")]).toEqual(["ab", "1ab"]);
    inside.destroy();
    socket.destroy();
  });

  it("takes as long as the distance, there and back", async () => {
    await network.delayAll(40);
    const socket = await opened();
    const startMs = performance.now();
    socket.write("hello");
    expect(String((await once(socket, "data"))[0])).toBe("hello");
    // Timers have a resolution of a millisecond.
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(78);
    socket.destroy();
  });
});
