import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type Clock, type HttpResponse, LIMITS, systemClock } from "../../runtime/index.ts";
import type { ServerRequest } from "../types.ts";
import { createCertificateAuthority } from "./certificates.ts";
import { type Backend, type Front, NotLoopbackError, startFront } from "./front.ts";
import { type SecureFront, startSecureFront } from "./secure.ts";

const opened: Front[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((front) => front.close()));
});

/** A backend that answers with the request, and whose watches the test controls. */
class FakeBackend implements Backend {
  readonly seen: ServerRequest[] = [];
  readonly watchesEnded: string[] = [];
  chunks: (signal: AbortSignal) => AsyncIterable<string> = async function* () {};

  async handle(request: ServerRequest): Promise<HttpResponse> {
    this.seen.push(request);
    const { signal: _, ...plain } = request;
    return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(plain) };
  }

  async stream(request: ServerRequest) {
    this.seen.push(request);
    const signal = request.signal;
    if (!signal) throw new Error("a watch needs a signal");
    signal.addEventListener("abort", () => this.watchesEnded.push(request.path));
    return { status: 200, headers: { "content-type": "application/json" }, chunks: this.chunks(signal) };
  }
}

async function start(backend: Backend, options: { clock?: Clock } = {}): Promise<SecureFront> {
  const front = await startSecureFront({
    name: "test",
    server: backend,
    clock: options.clock ?? systemClock,
    tokens: [{ token: "right-token", identity: { name: "robot", groups: ["robots"] } }],
  });
  opened.push(front);
  return front;
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

interface Call {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly agent?: false;
}

function call(front: SecureFront, options: Call = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: "127.0.0.1",
        port: front.port,
        method: options.method ?? "GET",
        path: options.path ?? "/api",
        headers: options.headers,
        ca: options.ca ?? front.authority.certificate,
        cert: options.cert,
        key: options.key,
        agent: false,
      },
      (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => (body += chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
        response.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end(options.body);
  });
}

const asRobot = { authorization: "Bearer right-token" };

describe("authentication", () => {
  it("takes the user and groups from a client certificate of the front's own CA", async () => {
    const backend = new FakeBackend();
    const front = await start(backend);
    const { certificate, privateKey } = await front.authority.issueClient({ name: "ada", groups: ["devs", "ops"] });
    const answer = await call(front, { cert: certificate, key: privateKey });
    expect(answer.status).toBe(200);
    expect(backend.seen[0]?.user).toEqual({ name: "ada", groups: ["devs", "ops", "system:authenticated"] });
  });

  it("refuses a certificate of another CA with 401, and the backend never sees the request", async () => {
    const backend = new FakeBackend();
    const front = await start(backend);
    const other = await createCertificateAuthority("lockstep-test", systemClock);
    const { certificate, privateKey } = await other.issueClient({ name: "ada", groups: ["system:masters"] });
    const answer = await call(front, { cert: certificate, key: privateKey });
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.body)).toMatchObject({ kind: "Status", reason: "Unauthorized", code: 401 });
    expect(backend.seen).toEqual([]);
  });

  it("accepts a known bearer token, and does not forward the credential", async () => {
    const backend = new FakeBackend();
    const front = await start(backend);
    expect((await call(front, { headers: asRobot })).status).toBe(200);
    expect(backend.seen[0]?.user).toEqual({ name: "robot", groups: ["robots", "system:authenticated"] });
    expect(backend.seen[0]?.headers).not.toHaveProperty("authorization");
  });

  it.each([
    ["a wrong token", { authorization: "Bearer wrong-token" }],
    ["a token that is only a prefix of a valid one", { authorization: "Bearer right" }],
    ["another scheme", { authorization: "Basic cmlnaHQ6dG9rZW4=" }],
    ["an empty token", { authorization: "Bearer " }],
    ["no credentials at all", {}],
  ])("refuses %s with 401", async (_, headers) => {
    const backend = new FakeBackend();
    const front = await start(backend);
    expect((await call(front, { headers })).status).toBe(401);
    expect(backend.seen).toEqual([]);
  });

  it("lets probes without credentials read health and version, and nothing else", async () => {
    const backend = new FakeBackend();
    const front = await start(backend);
    expect((await call(front, { path: "/readyz?verbose" })).status).toBe(200);
    expect(backend.seen[0]?.user?.name).toBe("system:anonymous");
    expect((await call(front, { path: "/readyz/../api/v1/secrets" })).status).toBe(401);
  });

  it("does not remember one caller's identity for another on the same connection without certificate", async () => {
    const backend = new FakeBackend();
    const front = await start(backend);
    // Two requests on one connection: the first with a token, the second without.
    const { Agent } = await import("node:https");
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const statusOf = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const request = httpsRequest(
          { host: "127.0.0.1", port: front.port, path: "/api", headers, agent, ca: front.authority.certificate },
          (response) => {
            response.resume();
            response.on("end", () => resolve(response.statusCode ?? 0));
          },
        );
        request.on("error", reject);
        request.end();
      });
    expect([await statusOf(asRobot), await statusOf({}), await statusOf(asRobot)]).toEqual([200, 401, 200]);
    agent.destroy();
  });
});

describe("incoming requests", () => {
  it("answers a body above the limit with 413, whether or not its length was announced", async () => {
    const backend = new FakeBackend();
    const front = await start(backend);
    const body = Buffer.alloc(10 * 1024 * 1024, "a");
    const announced = await call(front, { method: "POST", headers: asRobot, body });
    const chunked = await call(front, {
      method: "POST",
      headers: { ...asRobot, "transfer-encoding": "chunked" },
      body,
    });
    for (const answer of [announced, chunked]) {
      expect(answer.status).toBe(413);
      expect(JSON.parse(answer.body)).toMatchObject({ kind: "Status", reason: "RequestEntityTooLarge" });
    }
    expect(backend.seen).toEqual([]);
  });

  it("accepts a body of exactly the limit", async () => {
    const backend = new FakeBackend();
    const front = await start(backend);
    const body = Buffer.alloc(LIMITS.requestBodyBytes, "a");
    expect((await call(front, { method: "POST", headers: asRobot, body })).status).toBe(200);
    expect(backend.seen[0]?.body?.length).toBe(LIMITS.requestBodyBytes);
  });

  it.each([
    ["a body that is not UTF-8", { body: Buffer.from([0xff, 0xfe]), method: "POST" }, 400],
    ["a compressed body", { body: "x", method: "POST", headers: { "content-encoding": "gzip" } }, 415],
    ["a method Kubernetes does not have", { method: "TRACE" }, 405],
  ])("refuses %s with a Status", async (_, options, status) => {
    const backend = new FakeBackend();
    const front = await start(backend);
    const answer = await call(front, {
      ...options,
      headers: { ...asRobot, ...("headers" in options ? options.headers : {}) },
    });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body)).toMatchObject({ kind: "Status", status: "Failure", code: status });
    expect(backend.seen).toEqual([]);
  });

  it("answers too large headers, and data that is not HTTP, with a Status", async () => {
    const backend = new FakeBackend();
    const front = await start(backend);
    const large = await call(front, { headers: { ...asRobot, "x-large": "a".repeat(64 * 1024) } });
    expect([large.status, JSON.parse(large.body).kind]).toEqual([431, "Status"]);

    const plain = await startFront({ server: backend, clock: systemClock });
    opened.push(plain);
    const text = await new Promise<string>((resolve, reject) => {
      let received = "";
      const socket = connect(plain.port, "127.0.0.1", () => socket.write("this is no HTTP\r\n\r\n"));
      socket.on("data", (data) => (received += data));
      socket.on("end", () => resolve(received));
      socket.on("error", reject);
    });
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('"kind":"Status"');
  });

  it("turns a failing backend into a 500 Status without internal details", async () => {
    const backend = new FakeBackend();
    backend.handle = async () => {
      throw new Error("secret detail");
    };
    const front = await start(backend);
    const answer = await call(front, { headers: asRobot });
    expect(answer.status).toBe(500);
    expect(JSON.parse(answer.body)).toMatchObject({ kind: "Status", reason: "InternalError" });
    expect(answer.body).not.toContain("secret detail");
  });
});

describe("watches", () => {
  const until = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

  it("sends the headers before any event, and each event as it occurs", async () => {
    const backend = new FakeBackend();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    backend.chunks = async function* () {
      await held;
      yield '{"type":"ADDED"}\n';
    };
    const front = await start(backend);
    const body = await new Promise<string>((resolve, reject) => {
      const request = httpsRequest(
        {
          host: "127.0.0.1",
          port: front.port,
          path: "/api/v1/pods?watch=1",
          headers: asRobot,
          ca: front.authority.certificate,
          agent: false,
        },
        (response) => {
          // The headers arrived while the first event was still held back.
          release();
          let received = "";
          response.on("data", (data) => (received += data));
          response.on("end", () => resolve(received));
        },
      );
      request.on("error", reject);
      request.end();
    });
    expect(body).toBe('{"type":"ADDED"}\n');
  });

  it("ends the backend's watch when the client disconnects", async () => {
    const backend = new FakeBackend();
    let ended = () => {};
    const done = new Promise<void>((resolve) => {
      ended = resolve;
    });
    backend.chunks = async function* (signal) {
      yield "{}\n";
      await until(signal);
      ended();
    };
    const front = await start(backend);
    const request = httpsRequest(
      {
        host: "127.0.0.1",
        port: front.port,
        path: "/api/v1/pods?watch=true",
        headers: asRobot,
        ca: front.authority.certificate,
        agent: false,
      },
      (response) => response.once("data", () => request.destroy()),
    );
    request.on("error", () => {});
    request.end();
    await done;
    expect(backend.watchesEnded).toEqual(["/api/v1/pods?watch=true"]);
  });

  /** Watches and reads to the end, or until the connection breaks. */
  const readAll = (front: SecureFront) =>
    new Promise<{ bytes: number; whole: boolean }>((resolve, reject) => {
      const request = httpsRequest(
        {
          host: "127.0.0.1",
          port: front.port,
          path: "/api/v1/pods?watch=1",
          headers: asRobot,
          ca: front.authority.certificate,
          agent: false,
        },
        (response) => {
          let bytes = 0;
          response.on("data", (data) => (bytes += data.length));
          response.on("error", () => {});
          response.on("close", () => resolve({ bytes, whole: response.complete }));
        },
      );
      request.on("error", reject);
      request.end();
    });

  it("read no more from the backend while the client has not read what was sent", async () => {
    const backend = new FakeBackend();
    const chunk = "x".repeat(256 * 1024);
    let waiting = 0;
    let waited = 0;
    let askedWhileWaiting = 0;
    backend.chunks = async function* () {
      for (let count = 0; count < 40; count++) {
        if (waiting > 0) askedWhileWaiting += 1;
        yield chunk;
      }
    };
    // A front in use sleeps only while it waits for a watch's reader, so a sleep shows that it waits.
    const clock: Clock = {
      ...systemClock,
      sleep: (_, signal) => {
        waiting += 1;
        waited += 1;
        return new Promise((_resolve, reject) =>
          signal?.addEventListener("abort", () => {
            waiting -= 1;
            reject(signal.reason);
          }),
        );
      },
    };
    const front = await start(backend, { clock });
    expect(await readAll(front)).toEqual({ bytes: 40 * chunk.length, whole: true });
    expect(waited).toBeGreaterThan(0);
    expect(askedWhileWaiting).toBe(0);
  });

  it("are closed when their client reads nothing for too long", async () => {
    const backend = new FakeBackend();
    backend.chunks = async function* (signal) {
      while (!signal.aborted) yield "x".repeat(1024 * 1024);
    };
    const front = await start(backend, { clock: { ...systemClock, sleep: async () => {} } });
    expect(await readAll(front)).toMatchObject({ whole: false });
    expect(backend.watchesEnded).toEqual(["/api/v1/pods?watch=1"]);
  });

  it("are ended in order by close(), while a request in flight is still answered", async () => {
    const backend = new FakeBackend();
    backend.chunks = async function* (signal) {
      yield "{}\n";
      await until(signal);
    };
    let finish = () => {};
    let arrived = () => {};
    const inFlight = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    backend.handle = async () => {
      arrived();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return { status: 200, headers: {}, body: "finished" };
    };
    const front = await start(backend);
    let watching = () => {};
    const isWatching = new Promise<void>((resolve) => {
      watching = resolve;
    });
    const watch = new Promise<string>((resolve, reject) => {
      const request = httpsRequest(
        {
          host: "127.0.0.1",
          port: front.port,
          path: "/api/v1/pods?watch=1",
          headers: asRobot,
          ca: front.authority.certificate,
        },
        (response) => {
          let received = "";
          response.on("data", (data) => {
            received += data;
            watching();
          });
          response.on("end", () => resolve(`${received}end`));
          response.on("error", reject);
        },
      );
      request.on("error", reject);
      request.end();
    });
    await isWatching;
    const slow = call(front, { headers: asRobot });
    await inFlight;
    const closing = front.close();
    expect(await watch).toBe("{}\nend");
    finish();
    expect((await slow).body).toBe("finished");
    await closing;
    await expect(call(front, { headers: asRobot })).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});

describe("the listening address", () => {
  it.each(["0.0.0.0", "::", "192.0.2.1", "example.com", "127.evil.example"])(
    "refuses %s unless requested",
    async (host) => {
      const starting = startFront({ server: new FakeBackend(), clock: systemClock, host });
      await expect(starting).rejects.toThrow(NotLoopbackError);
      await expect(starting).rejects.toThrow(/allowNonLoopback/);
    },
  );

  it("listens beyond loopback on request, and on a free port by default", async () => {
    const front = await startFront({
      server: new FakeBackend(),
      clock: systemClock,
      host: "0.0.0.0",
      allowNonLoopback: true,
    });
    opened.push(front);
    expect(front.port).toBeGreaterThan(0);
  });
});
