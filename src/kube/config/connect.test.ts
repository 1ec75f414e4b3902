import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { stringify } from "yaml";
import { selfSigned } from "../../runtime/testing/certificates.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { connectCluster, contextNames } from "./connect.ts";
import { KubeConfigError, type Surroundings } from "./load.ts";

let folder = "";
const closing: (() => unknown)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await rm(folder, { recursive: true });
});

const around = (env: Surroundings["env"] = {}): Surroundings => ({
  env,
  home: folder,
  serviceAccountFolder: join(folder, "serviceaccount"),
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Answers with the authorization header that it got; 401 if it does not accept it. */
async function authServer(accepts: (authorization: string) => boolean = () => true) {
  const seen: string[] = [];
  const port = await listen(
    createServer((request, response) => {
      const authorization = request.headers.authorization ?? "";
      seen.push(authorization);
      response.writeHead(accepts(authorization) ? 200 : 401);
      response.end(authorization);
    }),
  );
  return { server: `http://127.0.0.1:${port}`, seen };
}

async function writeConfig(name: string, server: string, user: object, more: { cluster?: object } = {}) {
  const file = join(folder, name);
  const config = {
    clusters: [{ name: "c", cluster: { server, ...more.cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "ctx", context: { cluster: "c", user: "u", namespace: "apps" } }],
    "current-context": "ctx",
  };
  await writeFile(file, stringify(config));
  return file;
}

async function connect(kubeconfig: string, clock = new VirtualClock()) {
  const connection = await connectCluster({ kubeconfig, clock, surroundings: around() });
  closing.push(() => connection.close());
  const get = () => connection.transport.request({ method: "GET", path: "/version", headers: {} });
  return { connection, get, clock };
}

it("a token of the kubeconfig is sent with every request", async () => {
  const { server } = await authServer();
  const { connection, get } = await connect(await writeConfig("config", server, { token: "t0ken" }));
  expect((await get()).body).toBe("Bearer t0ken");
  expect(connection).toMatchObject({ context: "ctx", namespace: "apps", server: `${server}/` });
});

it("name and password become basic authentication", async () => {
  const { server } = await authServer();
  const { get } = await connect(await writeConfig("config", server, { username: "me", password: "pw" }));
  expect((await get()).body).toBe(`Basic ${Buffer.from("me:pw").toString("base64")}`);
});

it("a token file is found relative to the kubeconfig, and read again after a 401", async () => {
  let good = "Bearer one";
  const { server } = await authServer((authorization) => authorization === good);
  await writeFile(join(folder, "token"), "one\n");
  const { get } = await connect(await writeConfig("config", server, { tokenFile: "token" }));
  expect((await get()).status).toBe(200);
  good = "Bearer two";
  await writeFile(join(folder, "token"), "two\n");
  expect(await get()).toMatchObject({ status: 200, body: "Bearer two" });
});

it("a kubeconfig that is replaced, as a pod's Secret is, is read again after a 401, and otherwise every 30 s", async () => {
  let good = "Bearer one";
  const { server } = await authServer((authorization) => authorization === good);
  const file = await writeConfig("config", server, { token: "one" });
  const { get, clock } = await connect(file);
  expect((await get()).status).toBe(200);
  good = "Bearer two";
  expect((await get()).status).toBe(401);
  await writeConfig("config", server, { token: "two" });
  expect(await get()).toMatchObject({ status: 200, body: "Bearer two" });
  await writeConfig("config", server, { token: "three" });
  good = "Bearer three";
  await clock.advance(30_000);
  expect(await get()).toMatchObject({ status: 200, body: "Bearer three" });
});

it("a kubeconfig that is gone, is half written, or names another server or context by now changes nothing", async () => {
  const { server, seen } = await authServer();
  const other = await authServer();
  const file = await writeConfig("config", server, { token: "one" });
  const { get, clock } = await connect(file);
  const stays = async () => {
    await clock.advance(30_000);
    expect((await get()).body).toBe("Bearer one");
  };
  await writeFile(file, "users:\n  - {name: u, user: {token: t");
  await stays();
  await writeConfig("config", other.server, { token: "of-another-server" });
  await stays();
  const before = { clusters: [{ name: "c", cluster: { server } }], users: [{ name: "u", user: { token: "one" } }] };
  const elsewhere = { name: "d", cluster: { server: other.server } };
  await writeFile(
    file,
    stringify({
      clusters: [...before.clusters, elsewhere],
      users: [...before.users, { name: "v", user: { token: "two" } }],
      contexts: [
        { name: "ctx", context: { cluster: "c", user: "u" } },
        { name: "other", context: { cluster: "d", user: "v" } },
      ],
      "current-context": "other",
    }),
  );
  await stays();
  await rm(file);
  await stays();
  expect(new Set(seen)).toEqual(new Set(["Bearer one"]));
  expect(other.seen).toEqual([]);
});

it("a credential plugin runs once while its token is valid, and again after a 401", async () => {
  const plugin = join(folder, "plugin.mjs");
  const counter = join(folder, "counter");
  await writeFile(
    plugin,
    `import { appendFileSync, readFileSync } from "node:fs";
     appendFileSync(${JSON.stringify(counter)}, "x");
     const runs = readFileSync(${JSON.stringify(counter)}, "utf8").length;
     const { apiVersion } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
     console.log(JSON.stringify({ apiVersion, kind: "ExecCredential", status: { token: process.env.PREFIX + runs } }));`,
  );
  let good = "Bearer run-1";
  const { server, seen } = await authServer((authorization) => authorization === good);
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: process.execPath,
    args: [plugin],
    env: [{ name: "PREFIX", value: "run-" }],
  };
  const { get } = await connect(await writeConfig("config", server, { exec }));
  await get();
  expect((await get()).status).toBe(200);
  good = "Bearer run-2";
  expect((await get()).body).toBe("Bearer run-2");
  expect(seen).toEqual(["Bearer run-1", "Bearer run-1", "Bearer run-1", "Bearer run-2"]);
});

it("the error for a failed plugin contains the plugin's output", async () => {
  const { server } = await authServer();
  const exec = { command: process.execPath, args: ["-e", "console.error('please log in'); process.exit(1)"] };
  const connecting = connect(await writeConfig("config", server, { exec }));
  await expect(connecting).rejects.toThrow(/config: no credentials for user 'u': please log in/);
});

it("the server's certificate is checked against the kubeconfig's CA, and a client certificate is sent", async () => {
  const [server, client] = await Promise.all([selfSigned("127.0.0.1"), selfSigned("me")]);
  const tls = { cert: server.cert, key: server.key, ca: client.cert, requestCert: true, rejectUnauthorized: true };
  const port = await listen(createTlsServer(tls, (_request, response) => response.end("ok")));
  const url = `https://127.0.0.1:${port}`;
  await writeFile(join(folder, "client.crt"), client.cert);
  const user = { "client-certificate": "client.crt", "client-key-data": Buffer.from(client.key).toString("base64") };
  const cluster = { "certificate-authority-data": Buffer.from(server.cert).toString("base64") };
  const trusting = await connect(await writeConfig("good", url, user, { cluster }));
  // For others that connect to the same server, with credentials of their own.
  expect(trusting.connection.tls).toEqual({ ca: server.cert, insecureSkipVerify: false });
  expect((await trusting.get()).body).toBe("ok");
  const stranger = await connect(await writeConfig("bad", url, user));
  await expect(stranger.get()).rejects.toMatchObject({ name: "TransportError", neverSent: true });
});

it("a CA and a certificate in the kubeconfig itself take precedence over files", async () => {
  const [server, client, stranger] = await Promise.all([selfSigned("127.0.0.1"), selfSigned("me"), selfSigned("x")]);
  const tls = { cert: server.cert, key: server.key, ca: client.cert, requestCert: true, rejectUnauthorized: true };
  const port = await listen(createTlsServer(tls, (_request, response) => response.end("ok")));
  await Promise.all(["ca", "crt", "key"].map((name) => writeFile(join(folder, name), stranger.cert)));
  const data = (text: string) => Buffer.from(text).toString("base64");
  const user = {
    "client-certificate": "crt",
    "client-certificate-data": data(client.cert),
    "client-key": "key",
    "client-key-data": data(client.key),
  };
  const cluster = { "certificate-authority": "ca", "certificate-authority-data": data(server.cert) };
  const { get } = await connect(await writeConfig("config", `https://127.0.0.1:${port}`, user, { cluster }));
  expect((await get()).body).toBe("ok");
});

it("the error for a missing file names the file and the user who needs it", async () => {
  const { server } = await authServer();
  const connecting = connect(await writeConfig("config", server, { tokenFile: "gone" }));
  await expect(connecting).rejects.toThrow(/config: no credentials for user 'u': ENOENT.*gone/);
});

it("a rotated client certificate is used for new requests", async () => {
  const [server, first, second] = await Promise.all([selfSigned("127.0.0.1"), selfSigned("one"), selfSigned("two")]);
  const tls = { cert: server.cert, key: server.key, ca: [first.cert, second.cert], requestCert: true };
  const port = await listen(
    createTlsServer(tls, (request, response) => {
      const socket = request.socket as import("node:tls").TLSSocket;
      response.end(String(socket.getPeerCertificate().subject.CN));
    }),
  );
  const write = (pair: { cert: string; key: string }) =>
    Promise.all([writeFile(join(folder, "tls.crt"), pair.cert), writeFile(join(folder, "tls.key"), pair.key)]);
  await write(first);
  const user = { "client-certificate": "tls.crt", "client-key": "tls.key" };
  const cluster = { "certificate-authority-data": Buffer.from(server.cert).toString("base64") };
  const { get, clock } = await connect(await writeConfig("config", `https://127.0.0.1:${port}`, user, { cluster }));
  expect((await get()).body).toBe("one");
  await write(second);
  await clock.advance(30_000);
  expect((await get()).body).toBe("two");
});

it("inside a pod the service account is used", async () => {
  await mkdir(join(folder, "serviceaccount"));
  const pair = await selfSigned("127.0.0.1");
  const port = await listen(
    createTlsServer(pair, (request, response) => response.end(String(request.headers.authorization))),
  );
  await writeFile(join(folder, "serviceaccount", "token"), "pod-token");
  await writeFile(join(folder, "serviceaccount", "ca.crt"), pair.cert);
  await writeFile(join(folder, "serviceaccount", "namespace"), "system\n");
  const env = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port) };
  const connection = await connectCluster({ clock: new VirtualClock(), surroundings: around(env) });
  closing.push(() => connection.close());
  const answer = await connection.transport.request({ method: "GET", path: "/", headers: {} });
  expect(answer.body).toBe("Bearer pod-token");
  expect(connection.namespace).toBe("system");
});

it("several files are merged, the first entry of a name wins, and missing files are skipped", async () => {
  const { server } = await authServer();
  const first = await writeConfig("one", server, { token: "first" });
  const second = join(folder, "two");
  const context = { cluster: "c", user: "v" };
  const config = {
    users: [
      { name: "u", user: { token: "second" } },
      { name: "v", user: { token: "v" } },
    ],
    contexts: [{ name: "other", context }],
    "current-context": "other",
  };
  await writeFile(second, stringify(config));
  const surroundings = around({ KUBECONFIG: [join(folder, "missing"), first, second].join(delimiter) });
  expect(await contextNames({ surroundings })).toEqual(["ctx", "other"]);
  for (const [name, token] of [
    [undefined, "first"],
    ["other", "v"],
  ]) {
    const connection = await connectCluster({ clock: new VirtualClock(), surroundings, context: name });
    closing.push(() => connection.close());
    const answer = await connection.transport.request({ method: "GET", path: "/", headers: {} });
    expect(answer.body).toBe(`Bearer ${token}`);
  }
});

it("every error names its file and a remedy, and contains no secret", async () => {
  const fails = async (kubeconfig: string | undefined, context?: string, env = {}) => {
    const connecting = connectCluster({ clock: new VirtualClock(), kubeconfig, context, surroundings: around(env) });
    const error = await connecting.then(
      () => new Error("it did not fail"),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(KubeConfigError);
    return String(error);
  };
  expect(await fails(join(folder, "none"))).toMatch(/none does not exist; correct --kubeconfig/);
  expect(await fails(undefined)).toMatch(
    /no kubeconfig: neither \$KUBECONFIG nor .*\.kube\/config exists.*--kubeconfig/,
  );
  expect(await fails(undefined, undefined, { KUBECONFIG: "/nowhere" })).toMatch(/none of the files in \$KUBECONFIG/);
  const good = await writeConfig("config", "https://h", {});
  expect(await fails(good, "prod")).toMatch(/config has no context 'prod'; it has: ctx/);
  const plain = await writeConfig("plain", "http://example.test", {});
  expect(await fails(plain)).toMatch(/unencrypted to example\.test; use https/);
  const bad = await writeConfig("bad", "nonsense", {});
  expect(await fails(bad)).toMatch(/cluster 'c' needs a server such as https/);
  const groups = await writeConfig("groups", "https://h", { as: "a", "as-groups": ["b"] });
  expect(await fails(groups)).toMatch(/user 'u' impersonates groups/);
  const broken = join(folder, "broken");
  await writeFile(broken, "users:\n  - {name: u, user: {token: s3cret\n");
  expect(await fails(broken)).toMatch(/broken is not valid YAML \(line \d+\)$/);
  await writeFile(broken, stringify({ contexts: [{ name: "x", context: { cluster: "gone" } }] }));
  expect(await fails(broken)).toMatch(/no current-context; pass --context NAME \(it has: x\)/);
  expect(await fails(broken, "x")).toMatch(/names cluster 'gone', which is not there/);
});
