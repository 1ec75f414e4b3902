/** What is shipped: the npm package, the krew plugin, the image's layout, and a bundle that a user can build again. */
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { version } from "../../package.json";
import { findKubectl } from "../kubectl/find.ts";
import { Fleet } from "./fleet.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "lockstep-package-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (program: string, args: readonly string[], cwd = folder) =>
  execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

function pack(into: string): string {
  mkdirSync(into, { recursive: true });
  run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", into], ROOT);
  return join(into, `lockstep-${version}.tgz`);
}

describe("the npm package", () => {
  let archive = "";
  beforeAll(() => {
    archive = pack(join(folder, "first"));
  });

  it("is installed without dependencies and run by npx", () => {
    const home = join(folder, "home");
    mkdirSync(home);
    run("npm", ["init", "--yes"], home);
    run("npm", ["install", "--offline", "--no-audit", "--no-fund", archive], home);
    expect(readdirSync(join(home, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["lockstep"]);
    expect(run("npx", ["--offline", "lockstep", "--version"], home).trim()).toBe(version);
    expect(run("npx", ["--offline", "kubectl-lockstep", "install"], home)).toContain("kind: CustomResourceDefinition");
  });

  it("has an SDK with types, and an operator on it follows every rule of the contract", async () => {
    const home = join(folder, "operator");
    mkdirSync(home);
    run("npm", ["init", "--yes"], home);
    run("npm", ["install", "--offline", "--no-audit", "--no-fund", archive], home);
    const example = join(home, "node_modules/lockstep/examples/operator");
    for (const file of readdirSync(example)) cpSync(join(example, file), join(home, file));
    const types = join(ROOT, "node_modules/@types");
    const strict = [
      "--checkJs",
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--types",
      "node",
      "--typeRoots",
      types,
    ];
    run(join(ROOT, "node_modules/.bin/tsc"), [...strict, "operator.mjs"], home);

    const fleet = new Fleet();
    await fleet.start();
    const env = { ...process.env, KUBECONFIG: fleet.kubeconfig };
    const operator = spawn(process.execPath, ["operator.mjs", "member1"], { cwd: home, env, stdio: "pipe" });
    const ended = new Promise<number | null>((resolve) => operator.on("exit", resolve));
    let printed = "";
    operator.stderr.on("data", (data) => (printed += data));
    try {
      const definition = join(home, "definition.yaml");
      const { path } = await findKubectl();
      const applied = await fleet.execute(path, ["apply", "--context", "member1", "-f", definition]);
      expect(applied.out).toBe("customresourcedefinition.apiextensions.k8s.io/caches.example.io created\n");
      const trial = join(home, "trial.yaml");
      const { out, err } = await fleet.run("conformance", "--context", "member1", "-f", trial, "--quiet", "2s");
      expect({ out, err, printed }).toMatchObject({ out: expect.stringMatching(/\n\d+ passed, 0 failed\n$/) });
    } finally {
      operator.kill("SIGTERM");
      expect(await ended).toBe(0);
      await fleet.close();
    }
  }, 300_000);

  it("is the same bytes when it is packed again", () => {
    expect(readFileSync(pack(join(folder, "second"))).equals(readFileSync(archive))).toBe(true);
  });

  it("is a krew plugin with its licence: what the manifest extracts runs", () => {
    const uri = "https://example.com/lockstep.tgz";
    const manifest = parse(run("node", [join(ROOT, "scripts/krew.mjs"), archive, uri]));
    const [platform] = manifest.spec.platforms;
    expect(platform.sha256).toBe(run("sha256sum", [archive]).split(" ")[0]);
    const unpacked = join(folder, "krew");
    const store = join(folder, "store");
    mkdirSync(unpacked);
    run("tar", ["-xzf", archive, "-C", unpacked]);
    for (const { from, to } of platform.files) {
      const found = from.endsWith("/*")
        ? readdirSync(join(unpacked, dirname(from))).map((name) => join(unpacked, dirname(from), name))
        : [join(unpacked, from)];
      expect(found.length, from).toBeGreaterThan(0);
      for (const path of found) cpSync(path, join(store, to, basename(path)), { recursive: true });
    }
    expect(existsSync(join(store, "LICENSE"))).toBe(true);
    expect(run(join(store, platform.bin), ["--version"]).trim()).toBe(version);
  });
});

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

it("two builds in two folders are the same bytes", () => {
  const copies = ["one", "another/deeper"].map((name) => {
    const copy = join(folder, "builds", name);
    mkdirSync(copy, { recursive: true });
    for (const part of ["src", "sdk", "web", "scripts", "package.json", "tsconfig.json", "LICENSE", "NOTICE"]) {
      cpSync(join(ROOT, part), join(copy, part), { recursive: true });
    }
    // A copy, because the bundler would follow a symbolic link to where the repository is.
    run("cp", ["-a", join(ROOT, "node_modules"), join(copy, "node_modules")]);
    run("node", ["scripts/build.mjs"], copy);
    return join(copy, "dist");
  });
  const [one = "", another = ""] = copies;
  const names = filesBelow(one).sort();
  expect(filesBelow(another).sort()).toEqual(names);
  expect(names).toContain("lockstep.js");
  const differing = names.filter((name) => !readFileSync(join(one, name)).equals(readFileSync(join(another, name))));
  expect(differing).toEqual([]);
});

describe("the image", () => {
  const fleet = new Fleet();
  const image = join(folder, "image");
  beforeAll(() => fleet.start());
  afterAll(() => fleet.close());

  it("runs the controller in its layout, read-only and as its user, and answers probes and scrapes", async () => {
    const { copies, user, entry } = dockerfile();
    for (const [from, to] of copies) {
      // The build stage's folder is the repository.
      cpSync(join(ROOT, from.replace("/src/", "")), join(image, to), { recursive: true });
    }
    chmodSync(folder, 0o755);
    run("chmod", ["-R", "a-w,a+rX", image]);
    const [program, ...args] = entry;
    expect(program).toBe("/nodejs/bin/node");
    const isRoot = process.getuid?.() === 0;
    const kubeconfig = join(fleet.folder, "for-the-pod");
    cpSync(fleet.kubeconfig, kubeconfig);
    for (const path of [fleet.folder, kubeconfig]) chmodSync(path, 0o755);
    const controller = spawn(
      process.execPath,
      [...args.map((arg) => arg.replace("/app/", `${image}/app/`)), "controller", "--metrics=127.0.0.1:0"],
      {
        cwd: join(image, "app"),
        env: { KUBECONFIG: kubeconfig, NODE_OPTIONS: "--max-old-space-size=768" },
        stdio: ["ignore", "pipe", "pipe"],
        ...(isRoot && { uid: user, gid: user }),
      },
    );
    let printed = "";
    for (const stream of [controller.stdout, controller.stderr]) stream.on("data", (data) => (printed += data));
    const ended = new Promise<number | null>((resolve) => controller.on("exit", resolve));
    try {
      const address = await until(
        () => /"address":"([^"]+)"/.exec(printed)?.[1],
        () => printed,
      );
      // 'lockstep up' leads already: this one stands by, which is ready.
      await until(
        async () => (await fetch(`http://${address}/readyz`)).status === 200 || undefined,
        () => printed,
      );
      expect(await (await fetch(`http://${address}/healthz`)).text()).toBe("ok\n");
      expect(await (await fetch(`http://${address}/metrics`)).text()).toContain("leader_election_master_status");
    } finally {
      controller.kill("SIGTERM");
    }
    expect(await ended, printed).toBe(0);
    expect(printed).toContain("stopped by SIGTERM");
  });
});

/** What the Dockerfile's stage `controller` copies and runs; the last stage is nothing else. */
function dockerfile(): { copies: [string, string][]; user: number; entry: string[] } {
  const text = readFileSync(join(ROOT, "Dockerfile"), "utf8");
  const stages = text.split(/^(?=FROM )/m);
  const stage = stages.find((each) => /^FROM \S+ AS controller$/m.test(each)) ?? "";
  expect(stages.at(-1)?.trim()).toBe("FROM controller");
  const copies = [...stage.matchAll(/^COPY --from=build (\S+) (\S+)$/gm)].map(
    ([, from = "", to = ""]): [string, string] => [from, to],
  );
  const user = Number(/^USER (\d+):/m.exec(stage)?.[1]);
  const entry: string[] = JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(stage)?.[1] ?? "[]");
  expect(copies.length).toBeGreaterThan(3);
  expect(user).toBeGreaterThan(0);
  return { copies, user, entry };
}

async function until<Value>(
  look: () => Value | undefined | Promise<Value | undefined>,
  printed: () => string,
): Promise<Value> {
  for (let times = 0; times < 600; times++) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`it did not come to that; it printed:\n${printed()}`);
}
