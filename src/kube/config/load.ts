import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";

/** Thrown when no usable kubeconfig or context is found. The message names the file, the context and the remedy. */
export class KubeConfigError extends Error {
  override readonly name = "KubeConfigError";
}

/** The process environment, as an argument for tests. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Where a pod has its service account. */
  readonly serviceAccountFolder: string;
}

export function systemSurroundings(): Surroundings {
  return {
    env: process.env,
    home: homeFolder(),
    serviceAccountFolder: "/var/run/secrets/kubernetes.io/serviceaccount",
  };
}

/** A pod's user often has no entry in its image's list of users; Node throws for those. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

/** A kubeconfig of one or several files, with every path in it made absolute. */
export interface RawConfig {
  /** For messages: the files, or another source. */
  readonly origin: string;
  readonly clusters: readonly JsonObject[];
  readonly users: readonly JsonObject[];
  readonly contexts: readonly JsonObject[];
  readonly currentContext: string | undefined;
}

/** A kubeconfig is a few KB; a larger file is something else. */
const MAX_CONFIG_BYTES = 10 * 1024 * 1024;

/** In kubectl's order: the given file, $KUBECONFIG, ~/.kube/config, the pod's service account. */
export async function loadConfig(file: string | undefined, around: Surroundings): Promise<RawConfig> {
  if (file !== undefined) return readConfig(resolve(file));
  const listed = (around.env.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "");
  if (listed.length > 0) return merged(listed);
  const usual = join(around.home, ".kube", "config");
  const found = await readIfThere(usual);
  if (found !== undefined) return parseConfig(usual, found);
  const inCluster = await serviceAccount(around);
  if (inCluster) return inCluster;
  throw new KubeConfigError(
    `no kubeconfig: neither $KUBECONFIG nor ${usual} exists, and this is not a pod with a service account; pass --kubeconfig FILE or set KUBECONFIG`,
  );
}

/** As kubectl merges: missing files are skipped, and the first entry of a name wins. */
async function merged(files: readonly string[]): Promise<RawConfig> {
  const parts: RawConfig[] = [];
  for (const file of files) {
    const text = await readIfThere(file);
    if (text !== undefined) parts.push(await parseConfig(file, text));
  }
  if (parts.length === 0) {
    throw new KubeConfigError(`none of the files in $KUBECONFIG exists: ${files.join(", ")}; correct KUBECONFIG`);
  }
  const firstOfName = (lists: (readonly JsonObject[])[]) => {
    const byName = new Map<unknown, JsonObject>();
    for (const entry of lists.flat()) if (!byName.has(entry.name)) byName.set(entry.name, entry);
    return [...byName.values()];
  };
  return {
    origin: parts.map((part) => part.origin).join(", "),
    clusters: firstOfName(parts.map((part) => part.clusters)),
    users: firstOfName(parts.map((part) => part.users)),
    contexts: firstOfName(parts.map((part) => part.contexts)),
    currentContext: parts.find((part) => part.currentContext)?.currentContext,
  };
}

async function readConfig(file: string): Promise<RawConfig> {
  const text = await readIfThere(file);
  if (text === undefined) throw new KubeConfigError(`the kubeconfig ${file} does not exist; correct --kubeconfig`);
  return parseConfig(file, text);
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    const why = error instanceof Error ? error.message : String(error);
    throw new KubeConfigError(`the kubeconfig ${file} cannot be read: ${why}`, { cause: error });
  }
}

async function parseConfig(file: string, text: string): Promise<RawConfig> {
  if (text.length > MAX_CONFIG_BYTES) throw new KubeConfigError(`${file} is too large for a kubeconfig`);
  const { parse } = await import("./yaml.ts");
  let config: unknown;
  try {
    config = parse(text);
  } catch (error) {
    // Only the line number: the parser's message quotes the line, which may be a token.
    const line = /at line (\d+)/.exec(String(error))?.[1] ?? "?";
    throw new KubeConfigError(`the kubeconfig ${file} is not valid YAML (line ${line})`);
  }
  if (!isJsonObject(config)) throw new KubeConfigError(`the kubeconfig ${file} is empty or not a mapping`);
  const folder = dirname(resolve(file));
  const named = (field: string): JsonObject[] => {
    const value = config[field] ?? [];
    if (!Array.isArray(value)) throw new KubeConfigError(`${file}: '${field}' must be a list`);
    return value.map((entry, index) => {
      if (isJsonObject(entry) && typeof entry.name === "string" && entry.name !== "") return entry;
      throw new KubeConfigError(`${file}: ${field}[${index}] needs a name`);
    });
  };
  const current = config["current-context"];
  return {
    origin: file,
    clusters: named("clusters").map((entry) => withAbsolutePaths(entry, "cluster", ["certificate-authority"], folder)),
    users: named("users").map((entry) => preparedUser(entry, folder, file)),
    contexts: named("contexts"),
    currentContext: typeof current === "string" && current !== "" ? current : undefined,
  };
}

function withAbsolutePaths(entry: JsonObject, field: string, keys: readonly string[], folder: string): JsonObject {
  const inner = isJsonObject(entry[field]) ? { ...entry[field] } : {};
  for (const key of keys) {
    const path = inner[key];
    if (typeof path === "string" && path !== "" && !isAbsolute(path)) inner[key] = join(folder, path);
  }
  return { ...entry, [field]: inner };
}

/**
 * User settings that client-node's KubeConfig does not support: rotating token files, plugin paths relative to the
 * file, groups.
 */
function preparedUser(entry: JsonObject, folder: string, file: string): JsonObject {
  const made = withAbsolutePaths(entry, "user", ["client-certificate", "client-key", "tokenFile"], folder);
  const user = isJsonObject(made.user) ? made.user : {};
  if (user["as-groups"] !== undefined || user["as-uid"] !== undefined) {
    throw new KubeConfigError(
      `${file}: user '${entry.name}' impersonates groups or a uid (as-groups, as-uid), which is not supported; use a separate user`,
    );
  }
  if (typeof user.tokenFile === "string" && user.tokenFile !== "") {
    // As in kubectl, the file takes precedence over `token`, and is read again when it rotates.
    const { tokenFile, token: _outdated, ...rest } = user;
    return { ...made, user: { ...rest, "auth-provider": { name: "tokenFile", config: { tokenFile } } } };
  }
  if (isJsonObject(user.exec)) return { ...made, user: { ...user, exec: preparedPlugin(user.exec, folder) } };
  return made;
}

function preparedPlugin(exec: JsonObject, folder: string): JsonObject {
  const { command } = exec;
  const isBesideFile = typeof command === "string" && /[/\\]/.test(command) && !isAbsolute(command);
  // Plugins read the protocol version from this variable; some refuse to run without it.
  const info = { apiVersion: exec.apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  const env = Array.isArray(exec.env) ? exec.env : [];
  return {
    ...exec,
    command: isBesideFile ? join(folder, command) : command,
    env: [{ name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(info) }, ...env],
  };
}

async function serviceAccount(around: Surroundings): Promise<RawConfig | undefined> {
  const host = around.env.KUBERNETES_SERVICE_HOST;
  const port = around.env.KUBERNETES_SERVICE_PORT;
  const folder = around.serviceAccountFolder;
  const token = await readIfThere(join(folder, "token"));
  if (!host || !port || token === undefined) return undefined;
  const namespace = (await readIfThere(join(folder, "namespace")))?.trim();
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const tokenFile = join(folder, "token");
  return {
    origin: "the pod's service account",
    clusters: [{ name: "in-cluster", cluster: { server, "certificate-authority": join(folder, "ca.crt") } }],
    users: [{ name: "in-cluster", user: { "auth-provider": { name: "tokenFile", config: { tokenFile } } } }],
    contexts: [{ name: "in-cluster", context: { cluster: "in-cluster", user: "in-cluster", namespace } }],
    currentContext: "in-cluster",
  };
}
