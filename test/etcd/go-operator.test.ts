/** The operator in Go passes the same contract suite as those in TypeScript. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Front, SUPERUSERS, startFront } from "../../src/apiserver/front/index.ts";
import { EmbeddedFleet } from "../../src/embedded/index.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { seededRandom, systemClock } from "../../src/runtime/index.ts";
import { checkOperator, RULES } from "../../src/sdk/index.ts";
import { ensurePrograms } from "../tools/programs.ts";

const KIND = { apiVersion: "example.io/v1alpha1", kind: "Cache", plural: "caches" };
const DEFINITIONS = resource({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const DEFINITION: KubeObject = {
  apiVersion: DEFINITIONS.apiVersion,
  kind: DEFINITIONS.kind,
  metadata: { name: "caches.example.io" },
  spec: {
    group: "example.io",
    names: { kind: "Cache", listKind: "CacheList", plural: "caches", singular: "cache" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } },
      },
    ],
  },
};

/** What the operator asks who leads: the first instance that is ready, until another one that is ready is asked to. */
class Application {
  readonly #ready: () => readonly string[];
  #asked: string | undefined;
  /** Every move that was asked for. */
  readonly moves: string[] = [];
  readonly server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const to: unknown = request.method === "POST" ? JSON.parse(text).leader : undefined;
      if (typeof to === "string") this.moves.push(to);
      const canLead = to === undefined || (typeof to === "string" && this.#ready().includes(to));
      if (typeof to === "string" && canLead) this.#asked = to;
      response.writeHead(canLead ? 200 : 409).end(JSON.stringify({ leader: this.#leader() }));
    });
  });

  constructor(ready: () => readonly string[]) {
    this.#ready = ready;
  }

  #leader(): string {
    const ready = this.#ready();
    return ready.find((each) => each === this.#asked) ?? ready[0] ?? "";
  }

  async start(): Promise<string> {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/leader`;
  }
}

describe("the operator of sdk/go", () => {
  const fleet = new EmbeddedFleet({
    clock: systemClock,
    random: seededRandom(1),
    members: ["member1"],
    timings: { podStartMs: 100, podStopMs: 50 },
  });
  const folder = mkdtempSync(join(tmpdir(), "lockstep-go-operator-"));
  const application = new Application(() => {
    const pods = fleet.member("member1").api.list("/pods");
    return pods
      .filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && isReady(status))
      .map(({ metadata }) => metadata.name)
      .sort();
  });
  let front: Front;
  let operator: ChildProcess;
  beforeAll(async () => {
    await fleet.start();
    await fleet.client("member1").apply(DEFINITIONS, DEFINITION, { fieldManager: "test", force: true });
    const token = "of-the-operator";
    writeFileSync(join(folder, "token"), token, { mode: 0o600 });
    const identity = { name: "operator", groups: [SUPERUSERS] };
    const { server } = fleet.member("member1");
    front = await startFront({ server, clock: systemClock, tokens: [{ token, identity }] });
    const { "go-operator": program } = await ensurePrograms(["go-operator"]);
    const args = [
      "-server",
      front.url,
      "-token-file",
      join(folder, "token"),
      "-api-version",
      KIND.apiVersion,
      "-kind",
      KIND.kind,
      "-plural",
      KIND.plural,
      "-leader",
      await application.start(),
    ];
    operator = spawn(program, [...args, "-every", "50ms"], { stdio: ["ignore", "ignore", "inherit"] });
  });
  afterAll(async () => {
    const ended = once(operator, "exit");
    operator.kill();
    await ended;
    application.server.close();
    await front.close();
    await fleet.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("follows every rule of the member contract", async () => {
    const findings = await checkOperator({
      transport: fleet.member("member1").entrance.transport(),
      clock: systemClock,
      kind: KIND,
      namespace: "default",
      name: "trial",
      spec: { image: "example.com/cache:1.0" },
      addressTemplate: "{instance}",
      stepMs: 30_000,
      quietMs: 2_000,
    });
    expect(findings.filter(({ broken }) => broken !== undefined)).toEqual([]);
    expect(new Set(findings.map(({ rule }) => rule))).toEqual(new Set(Object.keys(RULES)));
    // M6 asks for a move to an instance that does not exist.
    expect(application.moves).toContain("trial-3");
  });

  it("has an SDK whose own tests pass", () => {
    const cwd = new URL("../../sdk/go/", import.meta.url).pathname;
    const { status, stdout, stderr } = spawnSync("go", ["test", "./..."], { cwd, encoding: "utf8" });
    expect({ status, said: status === 0 ? "" : stdout + stderr }).toEqual({ status: 0, said: "" });
  });
});

function isReady(status: unknown): boolean {
  return JSON.stringify(status ?? {}).includes('{"type":"Ready","status":"True"');
}
