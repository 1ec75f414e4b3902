import { webcrypto } from "node:crypto";
import type { CertifiedKey } from "../../../src/apiserver/front/certificates.ts";

const KEY = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const VALIDITY_MS = 365 * 24 * 60 * 60 * 1000;
const BACKDATED_MS = 5 * 60 * 1000;

/**
 * The authority with which the hub's controller manager signs the agents' certificates. Its key has to be in a file;
 * that of the stack's own authority, which signs administrators, is in none.
 */
export async function createSigner(name: string): Promise<CertifiedKey> {
  const x509 = await import("../../../src/apiserver/front/x509.ts");
  const keys = await webcrypto.subtle.generateKey(KEY, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: [{ CN: [name] }],
      notBefore: new Date(Date.now() - BACKDATED_MS),
      notAfter: new Date(Date.now() + VALIDITY_MS),
      keys,
      signingAlgorithm: KEY,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  const der = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificate: `${certificate.toString("pem")}\n`,
    privateKey: `${x509.PemConverter.encode(der, "PRIVATE KEY")}\n`,
  };
}
