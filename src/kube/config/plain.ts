import { readFile } from "node:fs/promises";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { Credentials, Target } from "./credentials.ts";

/** All user fields for credentials that need no plugin. */
const PLAIN_FIELDS = new Set([
  "token",
  "username",
  "password",
  "client-certificate",
  "client-certificate-data",
  "client-key",
  "client-key-data",
]);

/**
 * Static credentials: tokens, certificates, passwords, and the files that contain them, read again each time. Undefined
 * for a user who needs more, such as a plugin; another module handles those.
 */
export function plainCredentials({ cluster, user }: Target): (() => Promise<Credentials>) | undefined {
  const { "auth-provider": provider, ...said } = user;
  const tokenFile = provider === undefined ? undefined : tokenFileOf(provider);
  if (provider !== undefined && tokenFile === undefined) return undefined;
  if (Object.keys(said).some((field) => !PLAIN_FIELDS.has(field))) return undefined;
  return async () => {
    const token = tokenFile === undefined ? text(user.token) : await readFile(tokenFile, "utf8");
    return {
      tls: {
        ca: await pem(cluster, "certificate-authority"),
        cert: await pem(user, "client-certificate"),
        key: await pem(user, "client-key"),
        servername: text(cluster["tls-server-name"]),
        insecureSkipVerify: cluster["insecure-skip-tls-verify"] === true,
      },
      headers: authorization(token, user),
    };
  };
}

function tokenFileOf(provider: unknown): string | undefined {
  if (!isJsonObject(provider) || provider.name !== "tokenFile" || !isJsonObject(provider.config)) return undefined;
  return text(provider.config.tokenFile);
}

/** As in kubectl: data in the kubeconfig itself takes precedence over a file. */
async function pem(from: JsonObject, field: string): Promise<string | undefined> {
  const data = text(from[`${field}-data`]);
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  const file = text(from[field]);
  return file === undefined ? undefined : readFile(file, "utf8");
}

function authorization(token: string | undefined, { username, password }: JsonObject): Record<string, string> {
  // Most token files end with a newline.
  if (token !== undefined) return { authorization: `Bearer ${token.trim()}` };
  if (text(username) === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${username}:${text(password) ?? ""}`).toString("base64")}` };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
