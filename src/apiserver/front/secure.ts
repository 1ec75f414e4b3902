import type { Clock, Log } from "../../runtime/index.ts";
import type { BearerToken } from "./authentication.ts";
import { type CertificateAuthority, createCertificateAuthority, type Identity, SUPERUSERS } from "./certificates.ts";
import { type Backend, type Front, startFront } from "./front.ts";
import type { KubeconfigContext } from "./kubeconfig.ts";

export interface SecureFrontOptions {
  /** The cluster's name: of its CA, and of the context in a kubeconfig. */
  readonly name: string;
  readonly server: Backend;
  readonly clock: Clock;
  readonly log?: Log;
  readonly host?: string;
  readonly port?: number;
  readonly allowNonLoopback?: boolean;
  readonly tokens?: readonly BearerToken[];
}

export interface SecureFront extends Front {
  readonly authority: CertificateAuthority;
  /** A context for a user, with a generated certificate; without a user, for an administrator. */
  context(identity?: Identity): Promise<KubeconfigContext>;
}

/** The usual front: TLS with its own CA, which signs the server's and its clients' certificates. */
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
