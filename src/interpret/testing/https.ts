/** Real TLS for tests: generated certificates, a server on a free port, a transport that verifies. */
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import * as x509 from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

export interface Authority {
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly pem: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export async function newAuthority(name = "Test CA"): Promise<Authority> {
  x509.cryptoProvider.set(webcrypto as never);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys: keys as never,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    extensions: [
      new x509.BasicConstraintsExtension(true, 1, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  return { certificate, keys, pem: certificate.toString("pem") };
}

export interface ServerCertificate {
  readonly cert: string;
  readonly key: string;
}

/** For `names`, signed by the CA; expired on request. */
export async function newCertificate(
  authority: Authority,
  names: x509.JsonGeneralName[] = [{ type: "ip", value: "127.0.0.1" }],
  options: { expired?: boolean } = {},
): Promise<ServerCertificate> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const end = Date.now() + (options.expired ? -DAY_MS / 2 : DAY_MS);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: "CN=webhook",
    issuer: authority.certificate.subject,
    publicKey: keys.publicKey as never,
    signingKey: authority.keys.privateKey as never,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(end - DAY_MS),
    notAfter: new Date(end),
    extensions: [new x509.SubjectAlternativeNameExtension(names)],
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const lines = key.match(/.{1,64}/g)?.join("\n") ?? "";
  return {
    cert: certificate.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`,
  };
}

export interface RunningServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function serve(certificate: ServerCertificate, listener: RequestListener): Promise<RunningServer> {
  const server: Server = createServer(certificate, listener);
  // Some tests make the client abort handshakes.
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
