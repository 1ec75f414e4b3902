import { webcrypto } from "node:crypto";
import type { Clock } from "../../runtime/index.ts";

/** A certificate and its private key, both PEM. The key is secret: it goes only into a kubeconfig of mode 0600. */
export interface CertifiedKey {
  readonly certificate: string;
  readonly privateKey: string;
}

/** A client's identity: a certificate's common name and organisations, or a token's user. */
export interface Identity {
  readonly name: string;
  readonly groups: readonly string[];
}

/** The members of this group may do everything, as in any Kubernetes cluster. */
export const SUPERUSERS = "system:masters";

/** A development cluster's own CA. Its key lives as long as the process and is never written to disk. */
export interface CertificateAuthority {
  /** The CA's certificate, PEM: clients trust it, and client certificates are checked against it. */
  readonly certificate: string;
  /** `until`: another end of its validity than the usual one. */
  issueServer(hosts: readonly string[], until?: Date): Promise<CertifiedKey>;
  issueClient(identity: Identity, until?: Date): Promise<CertifiedKey>;
}

// P-256: a key takes well under a millisecond, an RSA key a hundred; every TLS client supports the curve.
const KEY = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

// A development fleet gets new certificates at each start; a year is longer than any of them runs.
const VALIDITY_MS = 365 * 24 * 60 * 60 * 1000;
// Clocks of a host and its containers differ a little; a certificate must not be "not yet valid".
const BACKDATED_MS = 5 * 60 * 1000;

export async function createCertificateAuthority(name: string, clock: Clock): Promise<CertificateAuthority> {
  // Loaded on demand: the library takes as long to load as four servers to start, and only a front needs it.
  const x509 = await import("./x509.ts");
  const notBefore = new Date(clock.now() - BACKDATED_MS);
  const notAfter = new Date(clock.now() + VALIDITY_MS);
  const authorityKeys = await webcrypto.subtle.generateKey(KEY, true, ["sign", "verify"]);
  const authority = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: [{ CN: [name] }],
      notBefore,
      notAfter,
      keys: authorityKeys,
      signingAlgorithm: KEY,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
        await x509.SubjectKeyIdentifierExtension.create(authorityKeys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );

  const issue = async (
    subject: ({ CN: [string] } | { O: [string] })[],
    usage: string,
    hosts: readonly string[],
    until = notAfter,
  ): Promise<CertifiedKey> => {
    const keys = await webcrypto.subtle.generateKey(KEY, true, ["sign", "verify"]);
    const certificate = await x509.X509CertificateGenerator.create(
      {
        subject,
        issuer: authority.subject,
        notBefore,
        notAfter: until,
        publicKey: keys.publicKey,
        signingKey: authorityKeys.privateKey,
        signingAlgorithm: KEY,
        extensions: [
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension([usage], false),
          await x509.AuthorityKeyIdentifierExtension.create(authorityKeys.publicKey, false, webcrypto),
          ...(hosts.length === 0
            ? []
            : [
                new x509.SubjectAlternativeNameExtension(
                  hosts.map((host) => ({ type: isAddress(host) ? ("ip" as const) : ("dns" as const), value: host })),
                ),
              ]),
        ],
      },
      webcrypto,
    );
    const der = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
    return {
      certificate: `${certificate.toString("pem")}\n`,
      privateKey: `${x509.PemConverter.encode(der, "PRIVATE KEY")}\n`,
    };
  };

  return {
    certificate: `${authority.toString("pem")}\n`,
    issueServer: (hosts, until) => issue([{ CN: [`${name}-server`] }], x509.ExtendedKeyUsage.serverAuth, hosts, until),
    issueClient: (identity, until) =>
      issue(
        [{ CN: [identity.name] }, ...identity.groups.map((group) => ({ O: [group] as [string] }))],
        x509.ExtendedKeyUsage.clientAuth,
        [],
        until,
      ),
  };
}

function isAddress(host: string): boolean {
  return /^[0-9.]+$/.test(host) || host.includes(":");
}
