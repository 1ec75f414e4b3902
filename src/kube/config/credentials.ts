import type { RequestOptions } from "node:https";
import { isJsonObject, type JsonObject, type TlsOptions } from "../../runtime/index.ts";
import { KubeConfigError, type RawConfig } from "./load.ts";
import { plainCredentials } from "./plain.ts";

/** One context of a kubeconfig: which server, and which user. */
export interface Target {
  readonly origin: string;
  readonly contextName: string;
  readonly namespace: string;
  readonly server: string;
  readonly proxyUrl: string | undefined;
  readonly userName: string;
  readonly cluster: JsonObject;
  readonly user: JsonObject;
}

export interface Credentials {
  readonly tls: TlsOptions;
  readonly headers: Readonly<Record<string, string>>;
}

/** Finds a context and everything that it refers to. */
export function targetOf(config: RawConfig, wanted: string | undefined): Target {
  const names = config.contexts.map((context) => String(context.name));
  const contextName = wanted ?? config.currentContext;
  const known = names.length > 0 ? `it has: ${names.join(", ")}` : "it has none";
  if (contextName === undefined) {
    throw new KubeConfigError(`${config.origin} has no current-context; pass --context NAME (${known})`);
  }
  const context = inner(config.contexts, contextName, "context");
  if (!context) throw new KubeConfigError(`${config.origin} has no context '${contextName}'; ${known}`);
  const cluster = inner(config.clusters, context.cluster, "cluster");
  if (!cluster) {
    throw new KubeConfigError(
      `${config.origin}: context '${contextName}' names cluster '${context.cluster}', which is not there; add it to clusters`,
    );
  }
  const user = context.user === undefined ? {} : inner(config.users, context.user, "user");
  if (!user) {
    throw new KubeConfigError(
      `${config.origin}: context '${contextName}' names user '${context.user}', which is not there; add it to users`,
    );
  }
  return {
    origin: config.origin,
    contextName,
    namespace: typeof context.namespace === "string" && context.namespace ? context.namespace : "default",
    server: checkedServer(config.origin, String(context.cluster), cluster),
    proxyUrl: typeof cluster["proxy-url"] === "string" ? cluster["proxy-url"] : undefined,
    userName: String(context.user ?? "anonymous"),
    cluster,
    user,
  };
}

function inner(entries: readonly JsonObject[], name: unknown, field: string): JsonObject | undefined {
  const found = entries.find((entry) => entry.name === name)?.[field];
  return isJsonObject(found) ? found : undefined;
}

function checkedServer(origin: string, name: string, cluster: JsonObject): string {
  const { server } = cluster;
  const url = typeof server === "string" && URL.canParse(server) ? new URL(server) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new KubeConfigError(`${origin}: cluster '${name}' needs a server such as https://host:6443`);
  }
  const isLoopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === "http:" && !isLoopback && cluster["insecure-skip-tls-verify"] !== true) {
    throw new KubeConfigError(
      `${origin}: cluster '${name}' would send credentials unencrypted to ${url.host}; use https://, or set insecure-skip-tls-verify: true to allow it`,
    );
  }
  return url.href;
}

/** Reads one context's credentials, each time they are needed. */
export async function credentialSource(target: Target): Promise<() => Promise<Credentials>> {
  const source = plainCredentials(target) ?? (await knownToClientNode(target));
  return async () => {
    try {
      return await source();
    } catch (error) {
      throw new KubeConfigError(`${target.origin}: no credentials for user '${target.userName}': ${reasonOf(error)}`, {
        cause: error,
      });
    }
  };
}

/**
 * Uses client-node's KubeConfig, which supports exec plugins and OIDC and caches their results until they expire.
 * Loaded only if needed: it takes a quarter of the memory of a nearly idle controller.
 */
async function knownToClientNode(target: Target): Promise<() => Promise<Credentials>> {
  // The narrowest module: the package's index loads every typed API, which takes ten times the time and memory.
  const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
  const config = new KubeConfig();
  const { "insecure-skip-tls-verify": insecure, ...cluster } = target.cluster;
  config.loadFromString(
    JSON.stringify({
      clusters: [
        {
          name: "cluster",
          // KubeConfig refuses plain http unless TLS checks are off; whether it may be used was decided above.
          cluster: { ...cluster, "insecure-skip-tls-verify": insecure === true || target.server.startsWith("http:") },
        },
      ],
      users: [{ name: "user", user: target.user }],
      contexts: [{ name: "context", context: { cluster: "cluster", user: "user" } }],
      "current-context": "context",
    }),
  );
  return async () => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    return {
      tls: {
        ca: pem(options.ca),
        cert: pem(options.cert),
        key: pem(options.key),
        servername: typeof cluster["tls-server-name"] === "string" ? cluster["tls-server-name"] : undefined,
        insecureSkipVerify: insecure === true,
      },
      headers: headersOf(options),
    };
  };
}

const MAX_REASON_LENGTH = 300;

function reasonOf(error: unknown): string {
  const text =
    (error instanceof Error ? error.message : String(error)).trim() || "the credential plugin failed without output";
  return text.length > MAX_REASON_LENGTH ? `${text.slice(0, MAX_REASON_LENGTH)}...` : text;
}

function pem(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return value instanceof Buffer ? value.toString("utf8") : undefined;
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // Most token files end with a newline.
    if (typeof value === "string") headers[name.toLowerCase()] = value.trim();
  }
  if (typeof options.auth === "string") headers.authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  return headers;
}
