import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLog, systemClock } from "../runtime/index.ts";
import { type Dashboard, NotLoopbackError, startDashboard } from "./server.ts";
import type { Act, ClusterAct, LiveEvent, Topic } from "./types.ts";
import { Refused, type Viewer } from "./viewer.ts";

let folder: string;
const started: Dashboard[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-page-"));
  for (const file of ["index.html", "app.js", "app.css", "icon.svg"]) writeFileSync(join(folder, file), `the ${file}`);
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((dashboard) => dashboard.close()));
  rmSync(folder, { recursive: true });
});

/** Knows two users by their tokens; only ada may act. */
class FakeHub {
  readonly acts: ((Act | ClusterAct) & { by: string })[] = [];
  readonly ended: string[] = [];
  send: (event: LiveEvent) => void = () => {};
  hasExpired = false;

  signIn = async (token: string): Promise<Viewer> => {
    if (token !== "ada" && token !== "bob") throw new Refused(401, "The hub does not accept this token.");
    return this.viewer(token);
  };

  viewer(user: string): Viewer {
    return {
      user,
      server: "https://hub",
      act: async (act) => {
        if (this.hasExpired) throw new Refused(401, "The hub no longer accepts your credentials.");
        if (user !== "ada") throw new Refused(403, `${user} cannot patch it`);
        this.acts.push({ ...act, by: user });
        return "done";
      },
      watch: async (topic: Topic, send, signal) => {
        this.send = send;
        send({ event: "trouble", data: { message: `${user} watches ${topic.kind}`, gone: false } });
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        this.ended.push(user);
      },
      logs: async ({ pod }) => `${user} reads ${pod}`,
      pods: async ({ kind, group, name }) => [`${kind}.${group ?? "owned"} ${name}-1`],
      podReports: async ({ namespace, name }) => ({
        atMs: 1,
        pods: [],
        notes: [`${user} asks for ${namespace}/${name}`],
      }),
      record: async ({ name, revision }) => ({
        revision,
        type: "Update",
        timeline: {
          fromMs: 1,
          spans: [],
          holds: [],
          notes: [{ atMs: 1, isWarning: false, reason: user, message: name }],
        },
      }),
      close: async () => {},
    };
  }
}

async function start(options: { readOnly?: boolean; host?: string } = {}) {
  const hub = new FakeHub();
  let secrets = 0;
  const dashboard = await startDashboard({
    clock: systemClock,
    log: silentLog,
    newSecret: () => `secret-${++secrets}`,
    pageFolder: folder,
    signIn: hub.signIn,
    readOnly: options.readOnly ?? false,
    program: "./bin/lockstep",
    ...(options.host !== undefined && { host: options.host }),
  });
  started.push(dashboard);
  return { hub, dashboard };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Call {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** By cookie: what the page keeps beside it. */
const keys = new Map<string, string>();

function call(
  { url }: Dashboard,
  path: string,
  { method = "GET", headers: given = {}, body }: Call = {},
): Promise<Answer> {
  const key = keys.get(given.cookie ?? "");
  const headers = { ...(key !== undefined && { "x-lockstep-key": key }), ...given };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { method, headers, agent: false }, (response) => {
      let text = "";
      response.on("data", (data) => (text += data));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const OURS = { "x-lockstep-dashboard": "1", "content-type": "application/json" };
const post = (dashboard: Dashboard, path: string, body: object, headers: Record<string, string> = {}) =>
  call(dashboard, path, { method: "POST", headers: { ...OURS, ...headers }, body: JSON.stringify(body) });
const seen = { uid: "8a1f", revision: "web-b", from: "web-a", wave: 2, past: ["soak"] };
const pause = { action: "pause", namespace: "default", name: "web", seen };

async function cookieOf(dashboard: Dashboard, credentials: object): Promise<string> {
  const { headers, status, body } = await post(dashboard, "/api/session", credentials);
  expect(status).toBe(200);
  const cookie = headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
  keys.set(cookie, JSON.parse(body).key);
  return cookie;
}

describe("the page", () => {
  it("is served with its policy, compressed, and not at all under another name", async () => {
    const { dashboard } = await start();
    const page = await call(dashboard, "/");
    expect(page.body).toBe("the index.html");
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    const zipped = await call(dashboard, "/app.js", { headers: { "accept-encoding": "gzip" } });
    expect(zipped.headers["content-encoding"]).toBe("gzip");
    expect((await call(dashboard, "/", { headers: { host: "evil.example" } })).status).toBe(421);
    for (const path of ["/nothing", "/../package.json", "/%2e%2e/package.json", "/api/nothing"]) {
      expect((await call(dashboard, path)).status).toBe(404);
    }
  });

  it("is not served on an address that other machines can reach", async () => {
    await expect(start({ host: "0.0.0.0" })).rejects.toThrow(NotLoopbackError);
  });
});

describe("signing in", () => {
  it("with a token that the hub accepts gives a cookie that scripts and other sites cannot use", async () => {
    const { dashboard } = await start();
    const { headers, body } = await post(dashboard, "/api/session", { token: "Bearer ada" });
    expect(headers["set-cookie"]?.[0]).toMatch(/HttpOnly; SameSite=Strict$/);
    expect(JSON.parse(body)).toEqual({
      user: "ada",
      server: "https://hub",
      readOnly: false,
      program: "./bin/lockstep",
      key: expect.stringMatching(/^secret-/),
    });
    const cookie = /lockstep-session=([^;]+)/.exec(headers["set-cookie"]?.[0] ?? "")?.[1] ?? "";
    expect(body).not.toContain(cookie);
  });

  it("is refused with the hub's answer, and a token with line breaks never reaches it", async () => {
    const { dashboard } = await start();
    expect(await post(dashboard, "/api/session", { token: "eve" })).toMatchObject({ status: 401 });
    expect(await post(dashboard, "/api/session", { token: "ada\r\nx-evil: 1" })).toMatchObject({ status: 400 });
    expect(await post(dashboard, "/api/session", {})).toMatchObject({ status: 400 });
  });

  it("replaces the session before it: a planted cookie is worth nothing afterwards", async () => {
    const { dashboard } = await start();
    const planted = await cookieOf(dashboard, { token: "bob" });
    const { headers } = await post(dashboard, "/api/session", { token: "ada" }, { cookie: planted });
    expect(headers["set-cookie"]?.[0]).not.toContain(planted);
    expect((await call(dashboard, "/api/session", { headers: { cookie: planted } })).status).toBe(401);
  });

  it("works once with a one-time link, whose secret is in the fragment", async () => {
    const { dashboard, hub } = await start();
    const link = dashboard.oneTimeLink(async () => hub.viewer("ada"));
    const secret = /\/#link=(.+)$/.exec(link)?.[1];
    expect(await post(dashboard, "/api/session", { link: secret })).toMatchObject({ status: 200 });
    expect(await post(dashboard, "/api/session", { link: secret })).toMatchObject({ status: 401 });
  });

  it("ends with signing out", async () => {
    const { dashboard } = await start();
    const cookie = await cookieOf(dashboard, { token: "ada" });
    const out = await call(dashboard, "/api/session", { method: "DELETE", headers: { ...OURS, cookie } });
    expect(out.headers["set-cookie"]?.[0]).toContain("Max-Age=0");
    expect((await call(dashboard, "/api/session", { headers: { cookie } })).status).toBe(401);
  });
});

describe("a pod's log", () => {
  it("is read as the viewer who signed in, for names that Kubernetes allows", async () => {
    const { dashboard } = await start();
    const path = "/api/logs?namespace=default&cluster=member1&pod=web-0";
    expect((await call(dashboard, path)).status).toBe(401);
    const cookie = await cookieOf(dashboard, { token: "ada" });
    const answer = await call(dashboard, path, { headers: { cookie } });
    expect(JSON.parse(answer.body)).toEqual({ text: "ada reads web-0" });
    const pods = "/api/pods?namespace=default&cluster=member1&name=train-1";
    for (const [kind, answered] of [
      ["kind=Job&group=batch", "Job.batch train-1-1"],
      ["kind=Pipeline&group=", "Pipeline. train-1-1"],
      ["kind=StatefulSet", "StatefulSet.owned train-1-1"],
    ]) {
      const found = await call(dashboard, `${pods}&${kind}`, { headers: { cookie } });
      expect(JSON.parse(found.body)).toEqual({ pods: [answered] });
    }
    for (const bad of ["kind=", "kind=..%2Fsecrets", "kind=Job&group=a%2Fb", "kind=Job%3Da"]) {
      expect((await call(dashboard, `${pods}&${bad}`, { headers: { cookie } })).status).toBe(400);
    }
    for (const bad of ["pod=..%2Fsecrets", "pod=a%2Fb", "pod="]) {
      const refused = `/api/logs?namespace=default&cluster=member1&${bad}`;
      expect((await call(dashboard, refused, { headers: { cookie } })).status).toBe(400);
    }
  });
});

it("a cookie that another local server got from the browser does nothing here, without the page's own key", async () => {
  const { dashboard, hub } = await start();
  const cookie = await cookieOf(dashboard, { token: "ada" });
  const stolen = { cookie, "x-lockstep-key": "" };
  expect((await call(dashboard, "/api/session", { headers: stolen })).status).toBe(401);
  expect((await call(dashboard, "/api/live/overview", { headers: stolen })).status).toBe(401);
  const inAddress = `/api/live/overview?key=${keys.get(cookie)}`;
  expect((await call(dashboard, inAddress, { headers: stolen })).status).toBe(401);
  expect((await post(dashboard, "/api/act", pause, stolen)).status).toBe(401);
  await call(dashboard, "/api/session", { method: "DELETE", headers: { ...OURS, ...stolen } });
  expect(hub.acts).toEqual([]);
  expect((await call(dashboard, "/api/session", { headers: { cookie } })).status).toBe(200);
});

describe("an action", () => {
  it("is carried out as the viewer who signed in", async () => {
    const { dashboard, hub } = await start();
    const cookie = await cookieOf(dashboard, { token: "ada" });
    expect(JSON.parse((await post(dashboard, "/api/act", pause, { cookie })).body)).toEqual({ effect: "done" });
    expect(hub.acts).toEqual([{ ...pause, type: "ccs", by: "ada" }]);
  });

  it("with credentials that have expired ends the session, also its live streams", async () => {
    const { dashboard, hub } = await start();
    const cookie = await cookieOf(dashboard, { token: "ada" });
    hub.hasExpired = true;
    const answer = await post(dashboard, "/api/act", pause, { cookie });
    expect(answer).toMatchObject({ status: 401, body: expect.stringContaining("no longer accepts your credentials") });
    expect((await call(dashboard, "/api/session", { headers: { cookie } })).status).toBe(401);
    const other = await cookieOf(dashboard, { token: "ada" });
    const stream = call(dashboard, "/api/live/overview", { headers: { cookie: other } });
    await expect.poll(() => hub.send).not.toBe(undefined);
    await expect
      .poll(() => {
        hub.send({ event: "signed-out", data: { message: "expired" } });
        return hub.ended;
      })
      .toContain("ada");
    expect((await stream).body).toContain('event: signed-out\ndata: {"message":"expired"}');
    expect((await call(dashboard, "/api/session", { headers: { cookie: other } })).status).toBe(401);
  });

  it("names the kind it means, or a cluster; anything else is refused", async () => {
    const { dashboard, hub } = await start();
    const cookie = await cookieOf(dashboard, { token: "ada" });
    await post(dashboard, "/api/act", { ...pause, type: "dapp" }, { cookie });
    await post(dashboard, "/api/act", { action: "drain", cluster: "member1", uid: "77" }, { cookie });
    expect(hub.acts).toEqual([
      { ...pause, type: "dapp", by: "ada" },
      { action: "drain", cluster: "member1", uid: "77", by: "ada" },
    ]);
    for (const bad of [{ ...pause, type: "pods" }, { action: "drain", cluster: "../member1" }, { action: "delete" }]) {
      expect((await post(dashboard, "/api/act", bad, { cookie })).status).toBe(400);
    }
  });

  it("is refused without a session, without rights, and to a read-only dashboard", async () => {
    const { dashboard, hub } = await start();
    expect((await post(dashboard, "/api/act", pause)).status).toBe(401);
    expect((await post(dashboard, "/api/act", pause, { cookie: "lockstep-session=guess" })).status).toBe(401);
    const bob = await cookieOf(dashboard, { token: "bob" });
    expect((await post(dashboard, "/api/act", pause, { cookie: bob })).status).toBe(403);
    const readOnly = await start({ readOnly: true });
    const ada = await cookieOf(readOnly.dashboard, { token: "ada" });
    expect(await post(readOnly.dashboard, "/api/act", pause, { cookie: ada })).toMatchObject({
      status: 403,
      body: expect.stringContaining("read-only"),
    });
    expect([...hub.acts, ...readOnly.hub.acts]).toEqual([]);
  });

  it.each([
    ["from another origin", { origin: "https://evil.example" }, 403],
    ["from another port of this machine", { "sec-fetch-site": "same-site" }, 403],
    ["without our header", { "x-lockstep-dashboard": "" }, 403],
    ["with the body of a form", { "content-type": "text/plain" }, 415],
    ["under another name", { host: "evil.example" }, 421],
  ])("%s is refused, although the browser sent the cookie", async (_, headers, status) => {
    const { dashboard, hub } = await start();
    const cookie = await cookieOf(dashboard, { token: "ada" });
    expect((await post(dashboard, "/api/act", pause, { cookie, ...headers })).status).toBe(status);
    expect(hub.acts).toEqual([]);
  });

  it.each([
    ["an unknown action", { ...pause, action: "delete" }],
    ["a name that is a path", { ...pause, name: "../secrets/x" }],
    ["nothing that was seen", { ...pause, seen: undefined }],
    ["a wave that is no number", { ...pause, seen: { ...seen, wave: "2" } }],
    ["no uid of what was seen", { ...pause, seen: { ...seen, uid: undefined } }],
    ["a cluster without its uid", { action: "drain", cluster: "member1" }],
    ["no namespace", { ...pause, namespace: undefined }],
    ["a revision that is an object", { ...pause, action: "undo", toRevision: {} }],
    ["a comment that is too long", { ...pause, action: "approve", comment: "x".repeat(1_001) }],
  ])("with %s is refused", async (_, body) => {
    const { dashboard, hub } = await start();
    const cookie = await cookieOf(dashboard, { token: "ada" });
    expect((await post(dashboard, "/api/act", body, { cookie })).status).toBe(400);
    expect(hub.acts).toEqual([]);
  });

  it("with a body above the limit is refused", async () => {
    const { dashboard } = await start();
    const cookie = await cookieOf(dashboard, { token: "ada" });
    expect((await post(dashboard, "/api/act", { ...pause, comment: "x".repeat(70_000) }, { cookie })).status).toBe(413);
  });
});

describe("a live stream", () => {
  const live = "/api/live/application?namespace=default&name=web";

  it("needs a session and a valid name", async () => {
    const { dashboard } = await start();
    expect((await call(dashboard, live)).status).toBe(401);
    const cookie = await cookieOf(dashboard, { token: "ada" });
    const bad = await call(dashboard, "/api/live/application?namespace=default&name=..", { headers: { cookie } });
    expect(bad.status).toBe(400);
  });

  it("sends whole events and beats, says when the session ends, and ends the viewer's watch", async () => {
    const { dashboard, hub } = await start();
    const cookie = await cookieOf(dashboard, { token: "ada" });
    const reading = call(dashboard, live, { headers: { cookie } });
    await expect.poll(() => hub.send.length).toBe(1);
    await call(dashboard, "/api/session", { method: "DELETE", headers: { ...OURS, cookie } });
    const { body, headers } = await reading;
    expect(headers["content-type"]).toContain("text/event-stream");
    expect(body).toContain('event: trouble\ndata: {"message":"ada watches application","gone":false}\n\n');
    expect(body).toContain("event: beat\n");
    expect(body).toContain("event: signed-out\n");
    expect(hub.ended).toEqual(["ada"]);
  });
});
