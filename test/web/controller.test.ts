/** `lockstep controller --dashboard`: what it serves to whom. The program itself runs, against the embedded hub. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seenOf } from "../../src/cli/hub/seen.ts";
import { APP, OPERATOR_TOKEN, TENANT_TOKEN, VIEWER_TOKEN, WebFleet } from "./fleet.ts";

const PROGRAM = new URL("../../src/cli/main.ts", import.meta.url).pathname;
const TSX = import.meta.resolve("tsx");
const OURS = { "x-lockstep-dashboard": "1", "content-type": "application/json" };

const fleet = new WebFleet();
const processes: ChildProcess[] = [];
/** Everything that the programs have printed. */
const printed: string[] = [];
let url: string;
let pause: { action: string; type: string; namespace: string; name: string; seen: object };

beforeAll(async () => {
  await fleet.start();
  pause = { action: "pause", type: "ccs", ...APP, seen: seenOf(await fleet.object()) };
  url = await controller("open");
});

afterAll(async () => {
  for (const child of processes) {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }
  await fleet.close();
});

/** Starts the program and returns what it prints where `wanted` finds it. */
async function start(args: readonly string[], wanted: RegExp, cwd?: string): Promise<string> {
  const child = spawn(process.execPath, ["--import", TSX, PROGRAM, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd,
  });
  processes.push(child);
  let text = "";
  const found = new Promise<string>((resolve, reject) => {
    const keep = (part: Buffer) => {
      printed.push(String(part));
      text += String(part);
      const match = wanted.exec(text)?.[1];
      if (match !== undefined) resolve(match);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("exit", (code) => reject(new Error(`it ended with ${code} before it printed ${wanted}: ${text}`)));
  });
  return await found;
}

/** Starts a controller with a dashboard and returns its address, which is in its log. */
function controller(identity: string, ...more: string[]): Promise<string> {
  const args = ["controller", "--kubeconfig", fleet.kubeconfig, "--identity", identity, "--dashboard", "127.0.0.1:0"];
  return start([...args, ...more], /"url":"(http:[^"]+)"/);
}

interface Call {
  readonly cookie?: string;
  readonly headers?: Record<string, string>;
}

/** By cookie: the half of the session that a page keeps for its own origin. */
const keys = new Map<string, string>();
const signedIn = (cookie: string) => ({ cookie, "x-lockstep-key": keys.get(cookie) ?? "" });

function post(path: string, body: object | string, { cookie, headers = OURS }: Call = {}, at = url) {
  return fetch(new URL(path, at), {
    method: "POST",
    headers: { ...headers, ...(cookie !== undefined && signedIn(cookie)) },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

async function signIn(token: string, at = url): Promise<string> {
  const answer = await post("/api/session", { token }, {}, at);
  expect(answer.status).toBe(200);
  const cookie = answer.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(/; HttpOnly/);
  expect(cookie).toMatch(/; SameSite=Strict/);
  expect(cookie).not.toContain(token);
  const own = cookie.split(";")[0] ?? "";
  keys.set(own, JSON.parse(await answer.text()).key);
  return own;
}

/** The first event of the wanted kind; the stream ends then. */
async function firstEvent(path: string, cookie: string, wanted: RegExp): Promise<string> {
  const answer = await fetch(new URL(path, url), { headers: signedIn(cookie) });
  expect(answer.status).toBe(200);
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of answer.body ?? []) {
    text += decoder.decode(part, { stream: true });
    const whole = text.split("\n\n").slice(0, -1);
    const found = whole.find((event) => wanted.test(event));
    if (found !== undefined) return found;
  }
  throw new Error(`the stream ended without ${wanted}`);
}

describe("without a token", () => {
  it("only the page's own files are served, with a strict policy", async () => {
    const page = await fetch(url);
    expect(page.status).toBe(200);
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain("unsafe");
    for (const path of ["live/overview", "live/application?type=ccs&namespace=default&name=xline", "session"]) {
      expect((await fetch(new URL(`/api/${path}`, url))).status, path).toBe(401);
    }
    expect((await fetch(new URL("/api/logs?namespace=default&cluster=member1&pod=xline-0", url))).status).toBe(401);
    expect((await fetch(new URL("/api/pods?namespace=default&cluster=member1&job=x", url))).status).toBe(401);
    expect((await fetch(new URL("/api/pod-reports?namespace=default&name=xline", url))).status).toBe(401);
    expect((await post("/api/act", pause)).status).toBe(401);
  });

  it.each(["/..%2f..%2fpackage.json", "/../package.json", "/%2e%2e/package.json", "//etc/passwd", "/app.js.map"])(
    "%s is not there",
    async (path) => {
      const answer = await fetch(url.replace(/\/$/, "") + path);
      expect(answer.status).toBe(404);
      expect(await answer.text()).not.toContain("lockstep");
    },
  );

  it("no link signs a viewer in with the controller's own credentials", async () => {
    expect((await post("/api/session", { link: "0".repeat(43) })).status).toBe(401);
    expect((await post("/api/session", { token: "wrong" })).status).toBe(401);
    expect((await post("/api/session", { token: "a\nb" })).status).toBeGreaterThanOrEqual(400);
  });
});

describe("a viewer", () => {
  it("acts with their own rights: vera may look and is refused by the hub, olga pauses and resumes", async () => {
    const vera = await signIn(VIEWER_TOKEN);
    expect(await (await fetch(new URL("/api/session", url), { headers: signedIn(vera) })).json()).toMatchObject({
      user: "vera",
    });
    expect(await firstEvent("/api/live/overview", vera, /^id: \d+\nevent: overview\n/)).toContain('"name":"xline"');
    const refused = await post("/api/act", pause, { cookie: vera });
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain("vera");
    const olga = await signIn(OPERATOR_TOKEN);
    expect((await post("/api/act", pause, { cookie: olga })).status).toBe(200);
    expect((await post("/api/act", { ...pause, action: "resume" }, { cookie: olga })).status).toBe(200);
    const other = await post("/api/act", { ...pause, seen: { uid: "another", past: [] } }, { cookie: olga });
    expect(other.status).toBe(409);
    expect(await other.text()).toContain("has changed since you looked: it was deleted, and another one has its name");
  });

  it("of one namespace sees nothing of another, neither in the list nor by its address nor its logs", async () => {
    const tina = await signIn(TENANT_TOKEN);
    const all = await firstEvent("/api/live/overview", tina, /event: overview\n/);
    expect(all).toContain("You may not list applications in all namespaces.");
    expect(all).not.toContain("xline");
    const own = await firstEvent("/api/live/overview?namespace=team", tina, /event: overview\n/);
    expect(own).not.toContain("xline");
    expect(own).not.toContain("You may not list applications");
    const other = "/api/live/application?type=ccs&namespace=default&name=xline";
    expect(await firstEvent(other, tina, /event: trouble\n/)).toContain("You may not watch");
    const log = await fetch(new URL("/api/logs?namespace=default&cluster=member1&pod=xline-0", url), {
      headers: signedIn(tina),
    });
    expect(log.status).toBeGreaterThanOrEqual(400);
    expect(await log.text()).toMatch(/"tina\\" cannot|forbidden/i);
    const reports = await fetch(new URL("/api/pod-reports?namespace=default&name=xline", url), {
      headers: signedIn(tina),
    });
    expect(reports.status).toBe(403);
    expect(await reports.text()).toMatch(/"tina\\" cannot/);
  });

  it("is not tricked by another page: without the header, with another origin or under another name", async () => {
    const cookie = await signIn(OPERATOR_TOKEN);
    expect((await post("/api/act", pause, { cookie, headers: { "content-type": "text/plain" } })).status).toBe(403);
    const evil = { ...OURS, origin: "https://evil.example" };
    expect((await post("/api/act", pause, { cookie, headers: evil })).status).toBe(403);
    const status = await fleet.status();
    expect(JSON.stringify(status.conditions)).not.toContain('"Paused","status":"True"');
  });

  it("cannot send more than a comment needs", async () => {
    const cookie = await signIn(OPERATOR_TOKEN);
    const answer = await post("/api/act", { ...pause, comment: "x".repeat(100_000) }, { cookie }).catch(
      () => undefined,
    );
    expect(answer?.status ?? 413).toBe(413);
  });
});

it("a read-only dashboard refuses every action, of an administrator too", async () => {
  const at = await controller("read-only", "--dashboard-read-only");
  const cookie = await signIn(OPERATOR_TOKEN, at);
  const answer = await post("/api/act", pause, { cookie }, at);
  expect(answer.status).toBe(403);
  expect(await answer.text()).toContain("read-only");
});

describe("the link that a command prints", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-up-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ["dashboard", () => ["dashboard", "--kubeconfig", fleet.kubeconfig, "--no-open"]],
    ["up", () => ["up", "--example", "none", "--clusters", "1"]],
  ])("of lockstep %s signs in once, with the credentials of its kubeconfig", async (_, args) => {
    const link = new URL(await start(args(), /(http:\S+#link=[\w-]+)\s/, folder));
    const secret = { link: link.hash.slice("#link=".length) };
    expect((await fetch(new URL("/", link))).status).toBe(200);
    const answer = await post("/api/session", secret, {}, link.origin);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      readOnly: false,
      server: expect.stringContaining("https://127.0.0.1"),
    });
    expect((await post("/api/session", secret, {}, link.origin)).status).toBe(401);
  });
});

it("nothing that a program has printed contains a token or a half of a session", () => {
  const halves = [...keys].flatMap(([cookie, key]) => [cookie.split("=")[1] ?? "", key]);
  const secrets = [OPERATOR_TOKEN, VIEWER_TOKEN, TENANT_TOKEN, ...halves];
  expect(secrets.every((secret) => secret.length > 20)).toBe(true);
  const all = printed.join("");
  expect(all).toContain('"url"');
  expect(secrets.filter((secret) => all.includes(secret))).toEqual([]);
});
