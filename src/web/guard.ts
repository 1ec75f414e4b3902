/** Which requests are served at all, and the headers of every answer. Pure. */

/** Every request that changes something has it. A page of another origin cannot send it without being asked first. */
export const REQUIRED_HEADER = "x-lockstep-dashboard";

export const COOKIE = "lockstep-session";

/**
 * The second half of a session. Browsers send a cookie to every port of a host, so another local server may get it; what
 * a page keeps for its own origin stays with that port. Neither half is worth anything without the other.
 */
export const KEY_HEADER = "x-lockstep-key";

/** Nothing from elsewhere, nothing inline, no frame, no form target, no base. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "cache-control": "no-store",
};

export interface RequestFacts {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
}

const SAFE_METHODS = new Set(["GET", "HEAD"]);

/**
 * Undefined: serve it.
 * - Host must be loopback, with any port (port forwarding changes it). A name that an attacker points at 127.0.0.1 is
 *   refused, so that its page cannot read anything (DNS rebinding).
 * - A browser that says where a request comes from must say: from this page, or typed by the user.
 * - What changes something also needs our own header and a JSON body. A form of another page can send neither.
 */
export function refusalOf({ method, headers }: RequestFacts): Refusal | undefined {
  const host = one(headers.host);
  if (host === undefined || !isLoopbackHost(host)) {
    return { status: 421, message: "this dashboard is served only as 127.0.0.1, [::1] or localhost" };
  }
  const site = one(headers["sec-fetch-site"]);
  const isTopLevel = site === "none" || one(headers["sec-fetch-mode"]) === "navigate";
  if (site !== undefined && site !== "same-origin" && !(SAFE_METHODS.has(method) && isTopLevel)) {
    return { status: 403, message: "requests of other pages are not served" };
  }
  const origin = one(headers.origin);
  if (origin !== undefined && origin !== `http://${host}`) {
    return { status: 403, message: "requests of other origins are not served" };
  }
  if (SAFE_METHODS.has(method)) return undefined;
  if (method !== "POST" && method !== "DELETE") return { status: 405, message: "this method is not served" };
  if (one(headers[REQUIRED_HEADER]) !== "1") {
    return { status: 403, message: `a request that changes something needs the header ${REQUIRED_HEADER}: 1` };
  }
  if (method === "POST" && !/^application\/json(?:;|$)/.test(one(headers["content-type"]) ?? "")) {
    return { status: 415, message: "the body must be application/json" };
  }
  return undefined;
}

/** For Host headers: a name or an address, with an optional port. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i.test(host);
}

/** The value of our cookie. With two of them, one may be planted by another port of this host: neither is used. */
export function cookieOf(header: string | readonly string[] | undefined): string | undefined {
  const text = typeof header === "string" ? header : (header ?? []).join("; ");
  const values = text
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${COOKIE}=`))
    .map((pair) => pair.slice(COOKIE.length + 1));
  return values.length === 1 ? values[0] : undefined;
}

/** The page's own half of the session. Never from an address: proxies log addresses. */
export function keyOf({ headers }: Pick<RequestFacts, "headers">): string | undefined {
  return one(headers[KEY_HEADER]);
}

/** Only for this page: not for scripts, not for requests that another site starts. Ends with the browser. */
export function setCookie(secret: string): string {
  return `${COOKIE}=${secret}; Path=/; HttpOnly; SameSite=Strict`;
}

export const CLEAR_COOKIE = `${COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`;

function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.[0];
}
