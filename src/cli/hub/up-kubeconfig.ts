/** The kubeconfig that `lockstep up` writes in the folder where it was started. */
import { parse } from "yaml";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { Io } from "../terminal/io.ts";

export const UP_KUBECONFIG = ".lockstep/kubeconfig";

/** What `up` writes for a user. Anything else, especially a program to run, is not accepted from the current folder. */
const USER_FIELDS = new Set(["token", "client-certificate-data", "client-key-data"]);
const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

export type UpKubeconfig =
  | { readonly kind: "found" }
  | { readonly kind: "absent" }
  /** There is a file, and `up` did not write it. */
  | { readonly kind: "foreign"; readonly why: string };

export function upKubeconfig(io: Pick<Io, "readFile">): UpKubeconfig {
  let text: string;
  try {
    text = io.readFile(UP_KUBECONFIG);
  } catch {
    return { kind: "absent" };
  }
  const why = foreignIn(text);
  return why === undefined ? { kind: "found" } : { kind: "foreign", why };
}

/** The part that is not from `up`. */
function foreignIn(text: string): string | undefined {
  let config: unknown;
  try {
    config = parse(text);
  } catch {
    return "it is not YAML";
  }
  if (!isJsonObject(config)) return "it is empty";
  const servers = named(config, "clusters", "cluster").map(({ server }) => String(server));
  const elsewhere = servers.find((server) => !isLoopback(server));
  if (elsewhere !== undefined) return `its server ${elsewhere} is not on this machine`;
  const field = named(config, "users", "user")
    .flatMap((user) => Object.keys(user))
    .find((key) => !USER_FIELDS.has(key));
  return field === undefined ? undefined : `it has a user with '${field}'`;
}

function named(config: JsonObject, list: string, field: string): JsonObject[] {
  const entries = config[list];
  return (Array.isArray(entries) ? entries.filter(isJsonObject) : []).map((entry) => {
    const value = entry[field];
    return isJsonObject(value) ? value : {};
  });
}

function isLoopback(server: string): boolean {
  try {
    return LOOPBACK.has(new URL(server).hostname);
  } catch {
    return false;
  }
}
