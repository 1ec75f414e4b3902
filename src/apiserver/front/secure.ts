import type { Clock, Log } from "../../runtime/index.ts";
import type { BearerToken } from "./authentication.ts";
import { type CertificateAuthority, createCertificateAuthority, type Identity, SUPERUSERS } from "./certificates.ts";
import { type Backend, type Front, startFront } from "./front.ts";
import type { KubeconfigContext } from "./kubeconfig.ts";

export interface SecureFrontOptions {
  /** The cluster's name: of its authority, and of the context in a kubeconfig. */
  name: string;
  server: Backend;
  clock: Clock;
  log?: Log;
  host?: string;
  port?: number;
  allowNonLoopback?: boolean;
  tokens?: readonly BearerToken[];
}

export interface SecureFront extends Front {
  readonly authority: CertificateAuthority;
  /** A context for a user, with a certificate made for it; without one, for an administrator. */
  context(identity?: Identity): Promise<KubeconfigContext>;
}

/** The usual front: TLS with an authority of its own that signs the server's and its clients' certificates. */
export async function startSecureFront(options: SecureFrontOptions): Promise<SecureFront> {
  const authority = await createCertificateAuthority(`lockstep-${options.name}`, options.clock);
  const hosts = new Set(["127.0.0.1", "localhost", "::1", ...(options.host ? [options.host] : [])]);
  const certified = await authority.issueServer([...hosts]);
  const front = await startFront({ ...options, tls: { ...certified, clientAuthority: authority.certificate } });
  const administrator: Identity = { name: `${options.name}-admin`, groups: [SUPERUSERS] };
  return {
    url: front.url,
    port: front.port,
    close: () => front.close(),
    authority,
    context: async (identity = administrator) => ({
      name: options.name,
      server: front.url,
      certificateAuthority: authority.certificate,
      credentials: await authority.issueClient(identity),
    }),
  };
}
