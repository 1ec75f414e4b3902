import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import type { CertifiedKey } from "./certificates.ts";

/** One cluster for kubectl; the context, the cluster and the user all have this name. */
export interface KubeconfigContext {
  readonly name: string;
  /** The server's address, such as https://127.0.0.1:45123. */
  readonly server: string;
  /** PEM of the CA that signed the server's certificate; absent for plain HTTP. */
  readonly certificateAuthority?: string;
  readonly credentials: CertifiedKey | { token: string };
  readonly namespace?: string;
}

/** Thrown when a kubeconfig cannot be written as requested. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
  readonly file: string;

  constructor(file: string, message: string, cause?: unknown) {
    super(`kubeconfig ${file}: ${message}`, { cause });
    this.file = file;
  }
}

/** The text of a kubeconfig with these contexts; the first one is current unless another is named. */
export function kubeconfigText(contexts: readonly KubeconfigContext[], current = contexts[0]?.name ?? ""): string {
  return stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      "current-context": current,
      clusters: contexts.map(({ name, server, certificateAuthority }) => ({
        name,
        cluster: {
          server,
          ...(certificateAuthority && { "certificate-authority-data": base64(certificateAuthority) }),
        },
      })),
      contexts: contexts.map(({ name, namespace }) => ({
        name,
        context: { cluster: name, user: name, ...(namespace && { namespace }) },
      })),
      users: contexts.map(({ name, credentials }) => ({
        name,
        user:
          "token" in credentials
            ? { token: credentials.token }
            : {
                "client-certificate-data": base64(credentials.certificate),
                "client-key-data": base64(credentials.privateKey),
              },
      })),
    },
    { lineWidth: 0 },
  );
}

/**
 * Writes the kubeconfig so that only its owner can read it and no reader ever sees half of it: a new file of mode 0600
 * in the same folder replaces the old one atomically.
 */
export async function writeKubeconfig(
  file: string,
  contexts: readonly KubeconfigContext[],
  current?: string,
): Promise<void> {
  const names = contexts.map((context) => context.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new KubeconfigError(file, `two contexts are called "${twice}"; give each its own name`);
  if (current !== undefined && !names.includes(current)) {
    throw new KubeconfigError(file, `current context "${current}" is not one of: ${names.join(", ")}`);
  }
  const folder = dirname(file);
  const temporary = join(folder, `.kubeconfig-${randomBytes(6).toString("hex")}`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // "wx": an existing file, or a link at that name, is an error and is not overwritten.
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(kubeconfigText(contexts, current));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (cause) {
    // The caller must get the original failure, not that there was nothing to clean up.
    await rm(temporary, { force: true }).catch(() => {});
    throw new KubeconfigError(file, `cannot be written: ${cause instanceof Error ? cause.message : cause}`, cause);
  }
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
