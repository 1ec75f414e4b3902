/** Certificates with which the members of etcd prove who they are to each other. */
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

const KEY = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 24 * 60 * 60 * 1000;

/** The files of a Secret of type kubernetes.io/tls. */
export type TlsFiles = { readonly "ca.crt": string; readonly "tls.crt": string; readonly "tls.key": string };

/** A CA that issues, for each place, a certificate for all of its addresses: both as servers and as clients. */
export async function issuePlaces(places: ReadonlyMap<string, readonly string[]>): Promise<Map<string, TlsFiles>> {
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const authorityKeys = await webcrypto.subtle.generateKey(KEY, true, ["sign", "verify"]);
  const authority = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: "CN=etcd peers",
      ...validity,
      keys: authorityKeys,
      signingAlgorithm: KEY,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
      ],
    },
    webcrypto,
  );
  const issued = new Map<string, TlsFiles>();
  for (const [place, addresses] of places) {
    const keys = await webcrypto.subtle.generateKey(KEY, true, ["sign", "verify"]);
    const certificate = await x509.X509CertificateGenerator.create(
      {
        subject: `CN=etcd in ${place}`,
        issuer: authority.subject,
        ...validity,
        publicKey: keys.publicKey,
        signingKey: authorityKeys.privateKey,
        signingAlgorithm: KEY,
        extensions: [
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
          new x509.SubjectAlternativeNameExtension(addresses.map((value) => ({ type: "ip" as const, value }))),
        ],
      },
      webcrypto,
    );
    const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
    issued.set(place, {
      "ca.crt": authority.toString("pem"),
      "tls.crt": certificate.toString("pem"),
      "tls.key": x509.PemConverter.encode(key, "PRIVATE KEY"),
    });
  }
  return issued;
}
