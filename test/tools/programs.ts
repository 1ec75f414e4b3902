/**
 * The real programs that suites run against, built once from their pinned Go modules into a cache folder outside the
 * repository. An environment variable may point at a folder of programs that are already built.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

interface Program {
  readonly module:
    | "kubernetes"
    | "karmada"
    | "ocm"
    | "etcd"
    | "etcd35"
    | "etcd37"
    | "probe"
    | "sdk"
    | "helm"
    | "kustomize";
  readonly package: string;
}

const PROGRAMS = {
  "kube-apiserver": { module: "kubernetes", package: "k8s.io/kubernetes/cmd/kube-apiserver" },
  "kube-controller-manager": { module: "kubernetes", package: "k8s.io/kubernetes/cmd/kube-controller-manager" },
  kubectl: { module: "kubernetes", package: "k8s.io/kubernetes/cmd/kubectl" },
  "karmada-controller-manager": { module: "karmada", package: "github.com/karmada-io/karmada/cmd/controller-manager" },
  "karmada-scheduler": { module: "karmada", package: "github.com/karmada-io/karmada/cmd/scheduler" },
  "karmada-webhook": { module: "karmada", package: "github.com/karmada-io/karmada/cmd/webhook" },
  "karmada-aggregated-apiserver": {
    module: "karmada",
    package: "github.com/karmada-io/karmada/cmd/aggregated-apiserver",
  },
  "karmada-agent": { module: "karmada", package: "github.com/karmada-io/karmada/cmd/agent" },
  karmadactl: { module: "karmada", package: "github.com/karmada-io/karmada/cmd/karmadactl" },
  "ocm-registration": { module: "ocm", package: "open-cluster-management.io/ocm/cmd/registration" },
  "ocm-placement": { module: "ocm", package: "open-cluster-management.io/ocm/cmd/placement" },
  // Its subcommand `agent` is the registration agent and the work agent in one process.
  "ocm-klusterlet": { module: "ocm", package: "open-cluster-management.io/ocm/cmd/registration-operator" },
  etcd: { module: "etcd", package: "go.etcd.io/etcd/server/v3" },
  etcdctl: { module: "etcd", package: "go.etcd.io/etcd/etcdctl/v3" },
  // The versions that the suites upgrade from and to.
  "etcd-3.5": { module: "etcd35", package: "go.etcd.io/etcd/server/v3" },
  "etcd-3.7": { module: "etcd37", package: "go.etcd.io/etcd/server/v3" },
  // Writes to an etcd, records every request, and checks the record: its source is in the module's own folder.
  probe: { module: "probe", package: "." },
  // The operator in Go, on sdk/go.
  "go-operator": { module: "sdk", package: "./operator" },
  helm: { module: "helm", package: "helm.sh/helm/v3/cmd/helm" },
  kustomize: { module: "kustomize", package: "sigs.k8s.io/kustomize/kustomize/v5" },
} as const satisfies Record<string, Program>;

export type ProgramName = keyof typeof PROGRAMS;

interface ModuleBuild {
  readonly main: string;
  readonly tags: string;
  /** Go variables that are set to the module's version. */
  readonly versionVariables: readonly string[];
  /** Go packages whose k8sVersionMajor and k8sVersionMinor are set to the Kubernetes of the client-go that is pinned. */
  readonly kubernetesVariables?: readonly string[];
}

const MODULES = {
  kubernetes: {
    main: "k8s.io/kubernetes",
    tags: "",
    // Servers and clients report v0.0.0 without these, and Karmada then misjudges what a member can do.
    versionVariables: ["k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"],
  },
  karmada: {
    main: "github.com/karmada-io/karmada",
    tags: "kubernetes_protomessage_one_more_release",
    versionVariables: ["github.com/karmada-io/karmada/pkg/version.gitVersion"],
  },
  ocm: {
    main: "open-cluster-management.io/ocm",
    tags: "",
    versionVariables: ["open-cluster-management.io/ocm/pkg/version.versionFromGit"],
  },
  etcd: { main: "go.etcd.io/etcd/server/v3", tags: "", versionVariables: [] },
  etcd35: { main: "go.etcd.io/etcd/server/v3", tags: "", versionVariables: [] },
  etcd37: { main: "go.etcd.io/etcd/server/v3", tags: "", versionVariables: [] },
  sdk: { main: "", tags: "", versionVariables: [] },
  probe: { main: "go.etcd.io/etcd/client/v3", tags: "", versionVariables: [] },
  helm: {
    main: "helm.sh/helm/v3",
    tags: "",
    versionVariables: ["helm.sh/helm/v3/internal/version.version"],
    // Without these, helm believes that every cluster is Kubernetes 1.20, and many charts refuse that.
    kubernetesVariables: ["helm.sh/helm/v3/pkg/chartutil", "helm.sh/helm/v3/pkg/lint/rules"],
  },
  kustomize: { main: "sigs.k8s.io/kustomize/kustomize/v5", tags: "", versionVariables: [] },
} as const satisfies Record<Program["module"], ModuleBuild>;

/** Thrown when a real program is neither installed nor buildable; the message says what to install. */
export class ProgramUnavailableError extends Error {
  override readonly name = "ProgramUnavailableError";
}

export function cacheFolder(): string {
  return process.env.LOCKSTEP_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "lockstep");
}

/** The version of a Go module as its go.mod under test/tools pins it. */
export function pinnedVersion(module: Program["module"]): string {
  return pinned(module, MODULES[module].main);
}

function pinned(module: Program["module"], path: string): string {
  if (path === "") return "own";
  const text = readFileSync(join(moduleFolder(module), "go.mod"), "utf8");
  const version = new RegExp(`(?:^|\\s)${path.replaceAll(".", "\\.")} (v\\S+)`).exec(text)?.[1];
  if (version === undefined) throw new Error(`test/tools/${module}/go.mod does not pin ${path}`);
  return version;
}

/** `-s -w`, and an `-X` for each variable of the program that says a version. */
function linkerFlags(module: Program["module"]): string {
  const { versionVariables, kubernetesVariables = [] }: ModuleBuild = MODULES[module];
  const own = versionVariables.map((variable) => `${variable}=${pinnedVersion(module)}`);
  // client-go v0.37 belongs to Kubernetes 1.37.
  const minor = kubernetesVariables.length > 0 ? pinned(module, "k8s.io/client-go").split(".")[1] : "";
  const kubernetes = kubernetesVariables.flatMap((path) => [
    `${path}.k8sVersionMajor=1`,
    `${path}.k8sVersionMinor=${minor}`,
  ]);
  return ["-s", "-w", ...[...own, ...kubernetes].map((variable) => `-X ${variable}`)].join(" ");
}

/** Paths of the named programs; those that are missing are built first, one line each on stderr. */
export async function ensurePrograms<Name extends ProgramName>(names: readonly Name[]): Promise<Record<Name, string>> {
  const paths: Partial<Record<Name, string>> = {};
  for (const name of names) paths[name] = await ensureProgram(name);
  return paths as Record<Name, string>;
}

async function ensureProgram(name: ProgramName): Promise<string> {
  const given = process.env.LOCKSTEP_KARMADA_BIN;
  if (given !== undefined && existsSync(join(given, name))) return join(given, name);

  const { module, package: pkg } = PROGRAMS[name];
  const version = pinnedVersion(module);
  const folder = join(cacheFolder(), "bin", `${module}-${version}-${lockHash(module)}`);
  const path = join(folder, name);
  if (existsSync(path)) return path;

  mkdirSync(folder, { recursive: true });
  console.error(`building ${name} ${version} (once; kept in ${folder})`);
  const { tags } = MODULES[module];
  // Built beside its place and renamed, so that a build that was cut off leaves nothing that looks finished.
  const partial = `${path}.${process.pid}.partial`;
  const args = ["build", "-trimpath", "-tags", tags, "-ldflags", linkerFlags(module), "-o", partial, pkg];
  await run("go", args, moduleFolder(module), name);
  renameSync(partial, path);
  return path;
}

function run(command: string, args: string[], cwd: string, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false -mod=readonly" },
    });
    child.on("error", (error) => {
      reject(
        new ProgramUnavailableError(
          `${name} is built from its Go module, and '${command}' could not be started (${error.message}): ` +
            "install Go 1.26 or newer, or set LOCKSTEP_KARMADA_BIN to a folder that holds the programs",
        ),
      );
    });
    child.on("exit", (code) => {
      if (code === 0) resolve();
      else
        reject(new ProgramUnavailableError(`building ${name} failed with exit code ${code}; the lines above say why`));
    });
  });
}

function moduleFolder(module: Program["module"]): string {
  return new URL(module === "sdk" ? "../../sdk/go/" : `./${module}/`, import.meta.url).pathname;
}

/**
 * Changes when any pinned dependency or a source of our own does, so that a cached program is never that of other pins.
 */
function lockHash(module: Program["module"]): string {
  const hash = createHash("sha256");
  const folder = moduleFolder(module);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const isOwn = (file: string) => file.endsWith(".go") && !file.endsWith("_test.go");
  // A module without dependencies has no go.sum.
  for (const file of ["go.mod", ...files.filter((each) => each === "go.sum" || isOwn(each)).sort()]) {
    hash.update(readFileSync(join(folder, file)));
  }
  return hash.digest("hex").slice(0, 8);
}

/**
 * Where the pinned module's own files (CRDs, manifests) are on this machine; downloads the module if it is not there.
 */
export async function moduleSource(module: Program["module"]): Promise<string> {
  const folder = (await listedFolder(module)) || (await downloaded(module));
  if (folder !== "") return folder;
  throw new ProgramUnavailableError(`the Go module ${MODULES[module].main} could not be downloaded; see above`);
}

async function downloaded(module: Program["module"]): Promise<string> {
  const { main } = MODULES[module];
  await run("go", ["mod", "download", main], moduleFolder(module), main);
  return listedFolder(module);
}

/** Empty if the module is not in Go's module cache: a program that was built elsewhere came without its sources. */
function listedFolder(module: Program["module"]): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = ["list", "-m", "-f", "{{.Dir}}", MODULES[module].main];
    const child = spawn("go", args, { cwd: moduleFolder(module), stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (data) => {
      out += data;
    });
    child.on("error", reject);
    child.on("exit", (code) => resolve(code === 0 ? out.trim() : ""));
  });
}
