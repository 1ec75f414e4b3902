import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, connect as dial } from "node:net";
import type { TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import { afterEach, expect, it } from "vitest";
import { HttpTransport, type HttpTransportOptions } from "./http-transport.ts";
import { selfSigned } from "./testing/certificates.ts";
import type { HttpRequest } from "./transport.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

function connect(options: HttpTransportOptions): HttpTransport {
  const transport = new HttpTransport(options);
  closing.push(() => transport.close());
  return transport;
}

async function serve(listener: RequestListener, options: Partial<HttpTransportOptions> = {}) {
  const port = await listen(createServer(listener));
  return connect({ server: `http://127.0.0.1:${port}`, ...options });
}

const get = (path: string, signal?: AbortSignal): HttpRequest => ({
  method: "GET",
  path,
  headers: {},
  ...(signal && { signal }),
});

const bodyOf = async (request: IncomingMessage) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
};

it("the transport sends method, path below the prefix, headers and body, and reads the whole answer", async () => {
  const port = await listen(
    createServer(async (request, response) => {
      response.writeHead(201, { "X-Seen": `${request.method} ${request.url} ${request.headers["x-mine"]}` });
      response.end(`got ${await bodyOf(request)}`);
    }),
  );
  const transport = connect({ server: `http://127.0.0.1:${port}/prefix/` });
  const answer = await transport.request({ method: "POST", path: "/a?b=c", headers: { "x-mine": "1" }, body: "ä" });
  expect(answer).toMatchObject({ status: 201, headers: { "x-seen": "POST /prefix/a?b=c 1" }, body: "got ä" });
});

it("the transport reads compressed answers", async () => {
  const transport = await serve((_request, response) => {
    response.writeHead(200, { "content-encoding": "gzip" });
    response.end(gzipSync("zipped".repeat(1000)));
  });
  expect((await transport.request(get("/"))).body).toBe("zipped".repeat(1000));
});

it("a response above the limit is cut off, also if only its decompressed size is above it", async () => {
  const transport = await serve(
    (request, response) => {
      const bomb = request.url === "/bomb";
      response.writeHead(200, bomb ? { "content-encoding": "gzip" } : {});
      response.end(bomb ? gzipSync(Buffer.alloc(1_000_000)) : "x".repeat(1_000_000));
    },
    { maxResponseBytes: 100_000 },
  );
  await expect(transport.request(get("/"))).rejects.toThrow("more than 100000 bytes");
  await expect(transport.request(get("/bomb"))).rejects.toThrow("more than 100000 bytes");
});

it("a character that the network splits arrives complete", async () => {
  const bytes = Buffer.from("a€😀b");
  let answer: ServerResponse | undefined;
  const transport = await serve((_request, response) => {
    answer = response;
    response.writeHead(200);
    response.write(bytes.subarray(0, 2));
  });
  const stream = await transport.stream(get("/"));
  const texts: string[] = [];
  let sent = 2;
  for await (const text of stream.chunks) {
    texts.push(text);
    if (sent === 2) for (; sent < bytes.length; sent++) answer?.write(bytes.subarray(sent, sent + 1));
    answer?.end();
  }
  expect(texts.join("")).toBe("a€😀b");
});

it("a refused connection certainly never sent the request; a reset one may have", async () => {
  const gone = createServer();
  const port = await listen(gone);
  await closing.pop()?.();
  const refused = connect({ server: `http://127.0.0.1:${port}` });
  await expect(refused.request(get("/"))).rejects.toMatchObject({ name: "TransportError", neverSent: true });
  const resetting = await serve((request) => request.socket.destroy());
  await expect(resetting.request(get("/x?secret=1"))).rejects.toMatchObject({
    name: "TransportError",
    neverSent: false,
  });
  await expect(resetting.request(get("/x?secret=1"))).rejects.not.toThrow("secret");
});

it("a connection that breaks inside the body is an error, for requests and streams", async () => {
  const transport = await serve((_request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("half");
    response.socket?.end();
  });
  await expect(transport.request(get("/"))).rejects.toMatchObject({ name: "TransportError", neverSent: false });
  const read = async () => {
    for await (const _chunk of (await transport.stream(get("/"))).chunks);
  };
  await expect(read()).rejects.toMatchObject({ name: "TransportError" });
});

it("an abort ends a request before, during and after its headers", async () => {
  const transport = await serve((request, response) => {
    if (request.url === "/slow") return;
    response.writeHead(200);
    response.write("first");
  });
  const early = AbortSignal.abort(new Error("too late"));
  await expect(transport.request(get("/", early))).rejects.toMatchObject({ neverSent: true });
  const during = new AbortController();
  const slow = transport.request(get("/slow", during.signal));
  during.abort(new Error("enough"));
  await expect(slow).rejects.toMatchObject({ name: "TransportError", message: expect.stringContaining("enough") });
  const after = new AbortController();
  const stream = await transport.stream(get("/", after.signal));
  const read = async () => {
    for await (const _chunk of stream.chunks) after.abort(new Error("enough"));
  };
  await expect(read()).rejects.toMatchObject({ name: "TransportError" });
});

it("streams do not take the connections of requests", async () => {
  const transport = await serve(
    (request, response) => {
      response.writeHead(200);
      if (request.url === "/watch") response.write("open");
      else response.end("done");
    },
    { maxConnections: 1 },
  );
  for (let index = 0; index < 5; index++) await transport.stream(get("/watch"));
  expect((await transport.request(get("/"))).body).toBe("done");
});

it("certificates are verified: with another CA or name, the request is never sent", async () => {
  const [server, stranger] = await Promise.all([selfSigned("example.test"), selfSigned("example.test")]);
  let requests = 0;
  const port = await listen(
    createTlsServer({ cert: server.cert, key: server.key }, (_request, response) => {
      requests++;
      response.end("secure");
    }),
  );
  const url = `https://127.0.0.1:${port}`;
  const trusting = connect({ server: url, tls: { ca: server.cert, servername: "example.test" } });
  expect((await trusting.request(get("/"))).body).toBe("secure");
  expect(requests).toBe(1);
  for (const tls of [
    {},
    { ca: stranger.cert, servername: "example.test" },
    { ca: server.cert, servername: "other.test" },
  ]) {
    await expect(connect({ server: url, tls }).request(get("/"))).rejects.toMatchObject({ neverSent: true });
  }
  expect(requests).toBe(1);
  const careless = connect({ server: url, tls: { insecureSkipVerify: true } });
  expect((await careless.request(get("/"))).body).toBe("secure");
});

it("a client certificate is sent to the server", async () => {
  const [server, client] = await Promise.all([selfSigned("127.0.0.1"), selfSigned("me")]);
  const port = await listen(
    createTlsServer(
      { cert: server.cert, key: server.key, requestCert: true, ca: client.cert, rejectUnauthorized: true },
      (request, response) => response.end(String((request.socket as TLSSocket).getPeerCertificate().subject.CN)),
    ),
  );
  const tls = { ca: server.cert, cert: client.cert, key: client.key };
  const transport = connect({ server: `https://127.0.0.1:${port}`, tls });
  expect((await transport.request(get("/"))).body).toBe("me");
});

it("a server or proxy with an invalid URL is refused", () => {
  expect(() => new HttpTransport({ server: "ftp://x" })).toThrow("must begin with https://");
  expect(() => new HttpTransport({ server: "https://x", proxyUrl: "gopher://y" })).toThrow("socks5://");
});

it("an HTTP proxy tunnels to the server, whose certificate is still verified", async () => {
  const certificate = await selfSigned("127.0.0.1");
  const port = await listen(createTlsServer(certificate, (_request, response) => response.end("behind the proxy")));
  const asked: (string | undefined)[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, socket) => {
    asked.push(request.url);
    const upstream = dial(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on("error", () => socket.destroy());
    socket.on("error", () => upstream.destroy());
  });
  const proxyUrl = `http://127.0.0.1:${await listen(proxy)}`;
  const server = `https://127.0.0.1:${port}`;
  const trusting = connect({ server, proxyUrl, tls: { ca: certificate.cert } });
  expect((await trusting.request(get("/"))).body).toBe("behind the proxy");
  expect(asked).toEqual([`127.0.0.1:${port}`]);
  await expect(connect({ server, proxyUrl }).request(get("/"))).rejects.toMatchObject({ name: "TransportError" });
});

it("a SOCKS5 proxy tunnels to the server, whose certificate is still verified", async () => {
  const certificate = await selfSigned("example.test");
  const port = await listen(createTlsServer(certificate, (_request, response) => response.end("behind the proxy")));
  const proxy = createTcpServer((socket) => {
    let greeted = false;
    const onData = (data: Buffer) => {
      if (!greeted) {
        greeted = true;
        socket.write(Buffer.from([5, 0]));
        return;
      }
      // CONNECT: version, command, reserved, address type, address, port (the last two bytes).
      expect(data.readUInt16BE(data.length - 2)).toBe(port);
      socket.off("data", onData);
      const upstream = dial(port, "127.0.0.1", () => {
        socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]));
        upstream.pipe(socket).pipe(upstream);
      });
      upstream.on("error", () => socket.destroy());
    };
    socket.on("data", onData);
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  closing.push(() => proxy.close());
  const proxyUrl = `socks5://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const server = `https://127.0.0.1:${port}`;
  const tls = { ca: certificate.cert, servername: "example.test" };
  expect((await connect({ server, proxyUrl, tls }).request(get("/"))).body).toBe("behind the proxy");
  const stranger = connect({ server, proxyUrl, tls: { servername: "example.test" } });
  await expect(stranger.request(get("/"))).rejects.toMatchObject({ name: "TransportError" });
});
