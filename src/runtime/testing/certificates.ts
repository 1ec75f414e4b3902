import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

const KEY = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 24 * 60 * 60 * 1000;

/** A self-signed certificate: the client that should trust it uses it as its CA. */
export async function selfSigned(host: string): Promise<TestCertificate> {
  const keys = await webcrypto.subtle.generateKey(KEY, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: [{ CN: [host] }],
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + DAY_MS),
      keys,
      signingAlgorithm: KEY,
      extensions: [
        new x509.SubjectAlternativeNameExtension([{ type: /^[\d.]+$/.test(host) ? "ip" : "dns", value: host }]),
        new x509.BasicConstraintsExtension(true, 0, true),
      ],
    },
    webcrypto,
  );
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
}
