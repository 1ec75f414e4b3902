import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import type { Identity } from "./certificates.ts";

/** A bearer token and its user. */
export interface BearerToken {
  readonly token: string;
  readonly identity: Identity;
}

/** A caller's identity, or why there is none. */
export type Authentication =
  | { kind: "known"; identity: Identity }
  | { kind: "anonymous" }
  | { kind: "refused"; reason: "bad token" | "bad certificate" };

const AUTHENTICATED = "system:authenticated";

export const ANONYMOUS: Identity = { name: "system:anonymous", groups: ["system:unauthenticated"] };

/**
 * Identifies the sender of a request: a client certificate of our own CA first, then a bearer token. A wrong credential
 * is refused; only a request without any is anonymous.
 */
export function authenticate(request: IncomingMessage, tokens: readonly BearerToken[]): Authentication {
  const socket = request.socket;
  if (socket instanceof TLSSocket) {
    const certificate = socket.getPeerCertificate();
    // Node answers an empty object when the client sent no certificate.
    if (certificate.subject) {
      const name = first(certificate.subject.CN);
      if (!socket.authorized || !name) return { kind: "refused", reason: "bad certificate" };
      return known({ name, groups: all(certificate.subject.O) });
    }
  }
  const header = request.headers.authorization;
  if (header === undefined) return { kind: "anonymous" };
  const presented = /^Bearer +([^\s]+) *$/i.exec(header)?.[1];
  if (presented === undefined) return { kind: "refused", reason: "bad token" };
  // Every token is compared, each in constant time on digests of equal length: the time reveals nothing about any of
  // them.
  const digest = sha256(presented);
  let match: Identity | undefined;
  for (const { token, identity } of tokens) if (timingSafeEqual(sha256(token), digest)) match = identity;
  return match ? known(match) : { kind: "refused", reason: "bad token" };
}

function known(identity: Identity): Authentication {
  return { kind: "known", identity: { name: identity.name, groups: [...identity.groups, AUTHENTICATED] } };
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}

/** Node returns a repeated attribute as an array, a single one as a string, regardless of its types. */
function all(attribute: unknown): string[] {
  if (Array.isArray(attribute)) return attribute.filter((value) => typeof value === "string");
  return typeof attribute === "string" ? [attribute] : [];
}

function first(attribute: unknown): string | undefined {
  return all(attribute)[0];
}
