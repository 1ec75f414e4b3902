/** Sources that need credentials, and sources that are bad: what a user reads, with the real programs on the embedded fleet. */
import { createServer } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../../src/apiserver/index.ts";
import { ChartHost, digestOf, manifestOf } from "../../src/charts/testing/host.ts";
import { chartArchive, chartWithVersion, kustomizationArchive } from "../../src/charts/testing/sources.ts";
import { testTgz } from "../../src/charts/testing/tar.ts";
import { application, rows, settle, statusOf } from "../../src/embedded/testing/application.ts";
import { PodRecorder, World } from "../../src/embedded/testing/world.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { isJsonObject, type JsonObject } from "../../src/runtime/index.ts";
import { selfSigned } from "../../src/runtime/testing/certificates.ts";
import { type RealRenderer, realRenderer } from "./harness.ts";

const MEMBERS = ["member1", "member2"];
const JOBS = resource({ apiVersion: "batch/v1", kind: "Job", plural: "jobs", namespaced: true });
const schemas = new SchemaCache();
const NOTES = { name: "notes", version: "1.0.0", archive: chartWithVersion("notes", "1.0.0") };
const SITE = {
  name: "site",
  version: "1.0.0",
  archive: kustomizationArchive({
    "one/kustomization.yaml": "configMapGenerator: [{name: settings, literals: [a=1]}]",
  }),
};
const LOGIN = "robot:very-secret-word";

let renderer: RealRenderer;
let world: World;
let pods: PodRecorder;

beforeAll(async () => {
  renderer = await realRenderer({ limits: { requestTimeoutMs: 5_000 } });
});
afterAll(() => {
  expect(renderer.leftovers()).toEqual([]);
  renderer.stop();
});
beforeEach(async () => {
  world = new World(83, { schemas, members: MEMBERS }, { renderer });
  await world.start();
  pods = new PodRecorder(world.fleet);
});
afterEach(() => world.stop());

const app = (source: JsonObject, more: JsonObject = {}) =>
  application("notes", { source, clusters: { names: MEMBERS }, revisionSettleSeconds: 0, ...more });
const status = () => statusOf(world, "notes");

function archived(archive: Buffer): KubeObject {
  const metadata = { name: "chart", namespace: "default" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, binaryData: { "archive.tgz": archive.toString("base64") } };
}

function credentials(login: string): KubeObject {
  const [username = "", password = ""] = login.split(":");
  const data = { username: btoa(username), password: btoa(password) };
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "registry", namespace: "default" }, data };
}

/** What `kubectl describe` shows of the condition that says why nothing moves. */
function described(): string {
  const [settled] = rows(status().conditions).filter(({ type }) => type === "Settled");
  return `${settled?.status} ${settled?.reason}: ${settled?.message}`;
}

async function refused(): Promise<string> {
  await world.until("it is refused", () => described().startsWith("False RevisionRefused: "));
  return described();
}

describe("a registry", () => {
  const withRegistry = async (
    options: Parameters<typeof ChartHost.start>[0],
    use: (host: ChartHost) => Promise<void>,
  ): Promise<void> => {
    const host = await ChartHost.start({ charts: [NOTES, SITE], ...options });
    try {
      await use(host);
    } finally {
      await host.stop();
    }
  };
  const chart = (host: ChartHost, more: JsonObject = {}) =>
    app({ helm: { oci: `oci://${host.address}/charts/notes`, version: "^1", ...more } });

  it("serves a chart to those whose Secret has the right password, and says so to others without showing one", async () => {
    await withRegistry({ login: LOGIN, wantsToken: true }, async (host) => {
      await world.apply(chart(host));
      expect(await refused()).toContain(
        `the tags of ${host.address}/charts/notes: the host refuses access (HTTP 401). Check the source's address and credentials`,
      );
      await world.apply(credentials("robot:wrong-secret-word"));
      await world.apply(chart(host, { credentials: { secret: "registry" } }));
      await world.until("the new spec is refused", () => status().observedGeneration === 2);
      const said = await refused();
      expect(said).not.toContain("wrong-secret-word");
      await world.apply(credentials(LOGIN));
      await settle(world, "notes");
      expect(pods.order).toEqual(["member1/notes-0", "member2/notes-0"]);
      expect(status().chartVersion).toBe("1.0.0");
      const kept = JSON.stringify(world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", "notes"));
      expect(kept).not.toContain("very-secret-word");
      expect((await world.events("notes")).join("\n")).not.toContain("very-secret-word");
    });
  });

  it("over TLS is trusted by the certificate in the Secret, and by nothing less", async () => {
    const tls = await selfSigned("localhost");
    await withRegistry({ tls, login: LOGIN }, async (host) => {
      const oci = `oci://${host.address.replace("127.0.0.1", "localhost")}/charts/notes`;
      const source = { helm: { oci, version: "1.0.0", credentials: { secret: "registry" } } };
      await world.apply(credentials(LOGIN));
      await world.apply(app(source));
      expect(await refused()).toMatch(/localhost:\d+ could not be reached: self-signed certificate/);
      expect(host.requests).toEqual([]);
      const { data, ...secret } = credentials(LOGIN);
      await world.apply({ ...secret, data: { ...(isJsonObject(data) ? data : {}), "ca.crt": btoa(tls.cert) } });
      await settle(world, "notes");
      expect(pods.order).toEqual(["member1/notes-0", "member2/notes-0"]);
      expect(status().sourceDigest).toBe(`sha256:${digestOf(NOTES.archive)}`);
    });
  });

  it("serves a kustomization that is pinned by its digest", async () => {
    await withRegistry({}, async (host) => {
      const oci = `oci://${host.address}/charts/site@sha256:${digestOf(manifestOf(SITE))}`;
      await world.apply(app({ kustomize: { oci, path: "site/one" } }));
      await settle(world, "notes");
      expect(rows(status().objects).map(({ kind, clusters }) => `${kind} ${clusters}`)).toEqual(["ConfigMap 2"]);
    });
  });

  it("whose content has another digest is refused, and what runs stays", async () => {
    await withRegistry({}, async (host) => {
      await world.apply(chart(host));
      await settle(world, "notes");
      const { revision } = status();
      const oci = `oci://${host.address}/charts/notes@sha256:${"e".repeat(64)}`;
      await world.apply(app({ helm: { oci } }));
      expect(await refused()).toContain("sha256:eeee");
      expect(status().revision).toBe(revision);
      expect(pods.order).toEqual(["member1/notes-0", "member2/notes-0"]);
    });
  });

  it("that is down is named, and what runs stays", async () => {
    let stopped: ChartHost | undefined;
    await withRegistry({}, async (host) => {
      await world.apply(chart(host));
      await settle(world, "notes");
      stopped = host;
    });
    const { revision } = status();
    await world.apply(app({ helm: { oci: `oci://${stopped?.address}/charts/notes`, version: "2.0.0" } }));
    expect(await refused()).toContain(`${stopped?.address}`);
    expect(described()).toMatch(/could not be reached|ECONNREFUSED/);
    expect(status().revision).toBe(revision);
  });
});

describe("hooks", () => {
  const hook = (name: string, event: string, policy: string, image: string) =>
    [
      "apiVersion: batch/v1",
      "kind: Job",
      "metadata:",
      `  name: ${name}`,
      `  annotations: {helm.sh/hook: "${event}", helm.sh/hook-delete-policy: "${policy}"}`,
      "spec:",
      "  backoffLimit: 0",
      `  template: {spec: {restartPolicy: Never, containers: [{name: hook, image: "${image}"}]}}`,
    ].join("\n");
  const source = { helm: { archive: { configMap: "chart" } } };
  const jobs = async () => {
    const found: string[] = [];
    for (const member of MEMBERS) {
      const { items } = await world.ask(world.fleet.client(member).listAll(JOBS, { namespace: "default" }));
      found.push(...items.map(({ metadata }) => `${member}/${metadata.name}/${metadata.uid}`));
    }
    return found;
  };
  const names = (list: readonly string[]) => list.map((each) => each.split("/").slice(0, 2).join("/"));

  it("that succeeded are deleted or stay as their policy says, and those that stay are recreated on an upgrade", async () => {
    const chart = chartArchive("notes", {
      "templates/gone.yaml": hook("gone", "post-install,post-upgrade", "hook-succeeded", "hook:1"),
      "templates/stays.yaml": hook("stays", "post-install,post-upgrade", "before-hook-creation", "hook:1"),
    });
    await world.apply(archived(chart));
    await world.apply(app(source));
    await settle(world, "notes");
    const first = await jobs();
    expect(names(first)).toEqual(["member1/stays", "member2/stays"]);
    await world.apply(app({ helm: { ...source.helm, values: { image: "notes:2" } } }));
    await settle(world, "notes");
    const second = await jobs();
    expect(names(second)).toEqual(names(first));
    for (const each of second) expect(first).not.toContain(each);
  });

  it("that failed are deleted if their policy says so, are not run again by that, and their helpers stay until then", async () => {
    const account = [
      "apiVersion: v1",
      "kind: ServiceAccount",
      "metadata:",
      "  name: mover",
      "  annotations:",
      '    helm.sh/hook: "pre-upgrade"',
      '    helm.sh/hook-weight: "-5"',
      '    helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"',
    ].join("\n");
    const chart = (image: string) =>
      archived(
        chartArchive("notes", {
          "templates/account.yaml": account,
          "templates/move.yaml": hook("move", "pre-upgrade", "hook-succeeded,hook-failed", image),
        }),
      );
    const accounts = resource({
      apiVersion: "v1",
      kind: "ServiceAccount",
      plural: "serviceaccounts",
      namespaced: true,
    });
    const movers = async () => {
      const found = MEMBERS.map((member) =>
        world.fleet.client(member).find(accounts, { namespace: "default", name: "mover" }),
      );
      return (await Promise.all(found.map((each) => world.ask(each)))).map((each) => each !== undefined);
    };
    let ran = 0;
    let hadHelper = true;
    world.fleet.onChange(({ server, resource: of, isDeleted, object }) => {
      if (of !== "batch/jobs" || isDeleted || server !== "member1" || object.status !== undefined) return;
      ran++;
      hadHelper = world.fleet.member(server).api.get("/serviceaccounts", "default", "mover") !== undefined && hadHelper;
    });
    await world.apply(chart("hook:1"));
    await world.apply(app(source));
    await settle(world, "notes");
    expect([ran, await jobs()]).toEqual([0, []]);
    await world.apply(chart("broken:1"));
    await world.until("it halts", () => status().phase === "Halted");
    await world.until(
      "what failed is gone",
      () => world.fleet.member("member1").api.list("batch/jobs", "default").length === 0,
    );
    expect(described()).toContain(
      "False MemberFailed: member1: hook pre-upgrade: batch/v1 Job default/move: the Job failed",
    );
    expect(await movers()).toEqual([false, false]);
    const before = ran;
    await world.clock.advance(120_000);
    expect([ran, status().phase]).toEqual([before, "Halted"]);
    expect(hadHelper).toBe(true);
    await world.apply(chart("hook:1"));
    await settle(world, "notes");
    expect([await jobs(), await movers()]).toEqual([[], [false, false]]);
    expect(hadHelper).toBe(true);
  });

  it("of event test run where rollout.test is Helm, and one that fails stops the rollout at its cluster", async () => {
    const tested = (image: string) =>
      archived(chartArchive("notes", { "templates/check.yaml": hook("check", "test", "before-hook-creation", image) }));
    await world.apply(tested("hook:1"));
    await world.apply(app(source));
    await settle(world, "notes");
    expect(await jobs()).toEqual([]);
    await world.apply(app(source, { rollout: { test: "Helm" } }));
    await world.apply(tested("broken:1"));
    await world.until("it halts", () => status().phase === "Halted");
    expect(names(await jobs())).toEqual(["member1/check"]);
    expect(described()).toContain("False MemberFailed: member1: hook test: batch/v1 Job default/check");
    expect(described()).toContain("'lockstep resume dapp/notes'");
  });
});

describe("a bad source is refused with the program's own words, and the remedy", () => {
  const odd = (fault: string) => ({ helm: { archive: { configMap: "chart" }, values: { fault } } });
  const archive = (path: string, more: object) =>
    testTgz([
      { path: "odd/Chart.yaml", text: "apiVersion: v2\nname: odd\nversion: 1.0.0\n" },
      { path, ...more },
    ]);

  it.each([
    ["fails", "odd/templates/all.yaml", "the value 'fault' must be empty"],
    ["syntax", "odd/templates/all.yaml", "YAML"],
    ["twice", "ConfigMap", "plain"],
    ["no-kind", "kind", "Correct"],
    ["unknown-hook", "crd-install", ""],
    ["large", "ConfigMap large has 5500082 bytes, and 1048576 are allowed", "Make it smaller"],
    ["foreign", "Secret kube-system/admin is none of this application's own objects", "lookups: Empty"],
    ["random-name", "metadata.name differs between two renders", "lookups: Empty"],
    ["nothing", "no object", ""],
  ])("a chart: %s", async (fault, what, more) => {
    await world.apply(archived(chartArchive("odd")));
    await world.apply(app(odd(fault)));
    const said = await refused();
    expect(said).toContain(what);
    expect(said).toContain(more);
    expect(said).not.toMatch(/undefined|\[object|\n/);
  });

  it("a value that the chart's schema refuses is named with its path", async () => {
    await world.apply(archived(chartArchive("shop")));
    await world.apply(app({ helm: { archive: { configMap: "chart" }, values: { replicas: "many" } } }));
    expect(await refused()).toMatch(/at '\/replicas': got string, want integer/);
  });

  it("an archive with a path that leaves it", async () => {
    await world.apply(archived(archive("odd/../../etc/passwd", { text: "x" })));
    await world.apply(app(odd("")));
    expect(await refused()).toContain("..");
  });

  it("leaves the running revision as it is, whatever is wrong, and the next good one is rolled out", async () => {
    const good = archived(chartArchive("odd"));
    await world.apply(good);
    await world.apply(app(odd("")));
    await settle(world, "notes");
    const { revision } = status();
    const stays = async (what: string) => {
      const said = await refused();
      expect(said).toContain(what);
      expect(status().revision).toBe(revision);
      expect(rows(status().clusters).map(({ phase }) => phase)).toEqual(["Settled", "Settled"]);
    };
    const back = async () => {
      await world.apply(good);
      await world.apply(app(odd("")));
      await settle(world, "notes");
      expect(status().revision).toBe(revision);
    };
    for (const [fault, what] of [
      ["fails", "the value 'fault' must be empty"],
      ["twice", "ConfigMap"],
      ["large", "5500082 bytes"],
      ["nothing", "no object"],
    ] as const) {
      await world.apply(app(odd(fault)));
      await stays(what);
      await back();
    }
    // A map where the chart wants a text.
    await world.apply(app({ helm: { archive: { configMap: "chart" }, values: { fault: { a: 1 } } } }));
    await stays("odd/templates/all.yaml");
    await back();
    const bomb = "0".repeat(6 * 1024 * 1024);
    for (const [bad, what] of [
      [archive("odd/../../etc/passwd", { text: "x" }), ".."],
      [archive("odd/templates/link.yaml", { type: "2", link: "/etc/passwd" }), "link"],
      [archive("odd/templates/device.yaml", { type: "3" }), "device"],
      [archive("odd/files/zeros", { text: bomb }), "bytes"],
      [Buffer.from("no archive"), "not compressed with gzip"],
    ] as const) {
      await world.apply(archived(bad));
      await stays(what);
      await back();
    }
  });

  it("a host that accepts and never answers is given up, and what runs stays", async () => {
    await world.apply(archived(NOTES.archive));
    await world.apply(app({ helm: { archive: { configMap: "chart" } } }));
    await settle(world, "notes");
    const { revision } = status();
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = typeof address === "object" && address ? address.port : 0;
    try {
      await world.apply(app({ helm: { repository: `http://127.0.0.1:${port}`, chart: "notes" } }));
      expect(await refused()).toContain(`127.0.0.1:${port} did not answer within 5 s`);
      expect(status().revision).toBe(revision);
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });

  it("an address whose content has another digest", async () => {
    const host = await ChartHost.start({ charts: [NOTES] });
    const url = `${host.repository}/notes-1.0.0.tgz`;
    await world.apply(app({ helm: { archive: { url, sha256: "a".repeat(64) } } }));
    expect(await refused()).toContain(digestOf(NOTES.archive));
    expect(described()).toContain("a".repeat(64));
    await host.stop();
  });

  it("a ConfigMap with values that is missing, and then is there", async () => {
    await world.apply(archived(NOTES.archive));
    const valuesFrom = [{ configMap: "mine", key: "values.yaml" }];
    await world.apply(app({ helm: { archive: { configMap: "chart" }, valuesFrom } }));
    expect(await refused()).toContain("ConfigMap default/mine does not exist. Create it, or correct spec.source");
    const data = { "values.yaml": "image: notes:9" };
    await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "mine", namespace: "default" }, data });
    await settle(world, "notes");
    expect(Object.values(pods.images())).toEqual(["notes:9", "notes:9"]);
  });

  it("values of a Secret are in no message and no Event, whatever they are called", async () => {
    const chart = chartArchive("notes", { "templates/dsn.yaml": '{{ fail (printf "bad address %s" .Values.dsn) }}' });
    await world.apply(archived(chart));
    const secret = (yaml: string) =>
      world.apply({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "mine", namespace: "default" },
        data: { "values.yaml": btoa(yaml) },
      });
    await secret("dsn: db://me:hidden-word@host");
    const valuesFrom = [{ secret: "mine", key: "values.yaml" }];
    await world.apply(app({ helm: { archive: { configMap: "chart" }, valuesFrom } }));
    expect(await refused()).toContain("bad address ***");
    // A word that begins with a star is an alias in YAML, and parsers quote it.
    await secret("dsn: *hidden-word");
    await world.until("the Secret is refused", () => described().includes("Secret mine, key values.yaml is no YAML."));
    const kept = JSON.stringify(world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", "notes"));
    expect(kept).not.toContain("hidden-word");
    expect((await world.events("notes")).join("\n")).not.toContain("hidden-word");
  });
});
