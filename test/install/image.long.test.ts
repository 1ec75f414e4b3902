/**
 * The image, built by buildah from the repository's Dockerfile, and run. Base images come from this machine's own Node,
 * because a suite pulls nothing from registries: what differs from a real build is only what is below the files.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { version } from "../../package.json";
import { controllerArguments } from "../../src/cli/commands/install/host.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const IS_HERE = spawnSync("buildah", ["--version"]).status === 0 && process.getuid?.() === 0;
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
const GO = "/usr/local/go";
const BUILD_MS = 600_000;

describe("the image, built by buildah", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-image-"));
  const storage = ["--storage-driver", "vfs", "--root", join(folder, "storage"), "--runroot", join(folder, "run")];
  const buildah = (...args: string[]) =>
    execFileSync("buildah", [...storage, ...args], { cwd: ROOT, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }).trim();
  afterAll(() => {
    if (IS_HERE) buildah("rm", "--all");
    rmSync(folder, { recursive: true, force: true });
  });

  it("is tried where buildah is there and may mount", () => {
    if (!IS_HERE) console.warn("buildah (as root) is not on this machine, so the image was NOT built");
  });

  if (!IS_HERE) return;

  /** An image with these programs of this machine, at these paths, and the libraries that they need. */
  const base = (name: string, programs: Record<string, string>, more: (root: string) => void = () => {}) => {
    const root = join(folder, name);
    mkdirSync(join(root, "tmp"), { recursive: true, mode: 0o1777 });
    const copy = (from: string, to = from) => {
      mkdirSync(dirname(join(root, to)), { recursive: true });
      cpSync(realpathSync(from), join(root, to), { recursive: true });
    };
    for (const [from, to] of Object.entries(programs)) {
      copy(from, to);
      const printed = execFileSync("ldd", [from], { encoding: "utf8" });
      for (const [library] of printed.matchAll(/\/lib\S+/g)) copy(library);
    }
    more(root);
    const container = buildah("from", "scratch");
    buildah("copy", "-q", container, root, "/");
    const env = {
      PATH: `/usr/bin:${GO}/bin`,
      HOME: "/root",
      ...(name === "build" && { NODE_EXTRA_CA_CERTS: CERTIFICATES }),
    };
    buildah("config", ...Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]), container);
    buildah("commit", "-q", container, `localhost/${name}`);
    return `localhost/${name}`;
  };

  const addCertificates = (root: string) => {
    mkdirSync(join(root, "etc/ssl/certs"), { recursive: true });
    if (existsSync(CERTIFICATES)) cpSync(realpathSync(CERTIFICATES), join(root, CERTIFICATES));
  };

  /** What the stages are built on, as arguments of `buildah build`. */
  let bases: string[] = [];
  const build = (image: string, target: string, ...more: string[]) =>
    buildah("build", "--isolation", "chroot", ...bases, ...more, "-t", image, "--target", target, ".");
  const runIn = (container: string, ...command: string[]) =>
    buildah("run", "--isolation", "chroot", container, "--", ...command);

  beforeAll(() => {
    const node = process.execPath;
    const runtime = base("runtime", { [node]: "/nodejs/bin/node" });
    const npm = realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim());
    const builder = base(
      "build",
      { [node]: "/usr/bin/node", "/bin/sh": "/usr/bin/sh", "/usr/bin/env": "/usr/bin/env" },
      (root) => {
        symlinkSync("usr/bin", join(root, "bin"));
        const modules = "/usr/lib/node_modules/npm";
        cpSync(join(dirname(npm), ".."), join(root, modules), { recursive: true });
        symlinkSync(`${modules}/bin/npm-cli.js`, join(root, "/usr/bin/npm"));
        addCertificates(root);
      },
    );
    // The machine's own way to the packages; the image gets nothing of it.
    const mounts = [".npm", ".npmrc"].filter((each) => existsSync(join(homedir(), each)));
    const volumes = mounts.flatMap((each) => ["--volume", `${join(homedir(), each)}:/root/${each}:rw`]);
    bases = ["--build-arg", `BUILD=${builder}`, "--build-arg", `RUNTIME=${runtime}`, ...volumes];
    build("lockstep", "controller");
  }, BUILD_MS);

  it("has nothing but the bundle, its licences and its list of packages, and runs as a user without rights", () => {
    const container = buildah("from", "localhost/lockstep");
    const run = (...args: string[]) => runIn(container, "/nodejs/bin/node", ...args);
    expect(run("/app/dist/lockstep.js", "--version")).toBe(version);
    const facts =
      'const fs = require("fs"); console.log(JSON.stringify([process.getuid(), process.cwd(), fs.readdirSync(".")]))';
    expect(JSON.parse(run("-e", facts))).toEqual([
      65532,
      "/app",
      ["LICENSE", "NOTICE", "dist", "package.json", "sbom.spdx.json"],
    ]);
    const { OCIv1 } = JSON.parse(buildah("inspect", "--type", "image", "localhost/lockstep"));
    expect(OCIv1.config).toMatchObject({
      User: "65532:65532",
      Entrypoint: ["/nodejs/bin/node", "/app/dist/lockstep.js"],
      Cmd: ["controller", "--help"],
    });
    const built = join(buildah("mount", container), "app/dist/lockstep.js");
    // The bundle is the same, wherever it is built.
    expect(readFileSync(built).equals(readFileSync(join(ROOT, "dist/lockstep.js")))).toBe(true);
  });

  it("has the pinned helm and kustomize, too, in the stage `applications`", { timeout: BUILD_MS }, async () => {
    const from = (name: string) => execFileSync("go", ["env", name], { encoding: "utf8" }).trim();
    const programs = base("programs", { "/bin/sh": "/usr/bin/sh" }, (root) => {
      symlinkSync("usr/bin", join(root, "bin"));
      cpSync(from("GOROOT"), join(root, GO), { recursive: true });
      addCertificates(root);
    });
    const kept = { GOMODCACHE: "/root/go/pkg/mod", GOCACHE: "/root/.cache/go-build" };
    const volumes = Object.entries(kept).flatMap(([name, at]) => ["--volume", `${from(name)}:${at}:rw`]);
    build("lockstep-applications", "applications", "--build-arg", `PROGRAMS=${programs}`, ...volumes);
    const container = buildah("from", "localhost/lockstep-applications");
    expect(runIn(container, "/nodejs/bin/node", "/app/dist/lockstep.js", "--version")).toBe(version);
    expect(runIn(container, "/programs/helm", "version", "--short")).toMatch(/^v3\./);
    const settings = controllerArguments({
      systemNamespace: "lockstep-system",
      workloads: [],
      requireAllowedClusters: false,
      rendersSources: true,
    });
    for (const program of ["helm", "kustomize"]) {
      expect(settings).toContain(`--${program}=/programs/${program}`);
      expect(runIn(container, `/programs/${program}`, "version")).not.toBe("");
    }
  });
});
