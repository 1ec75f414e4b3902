import { describe, expect, it } from "vitest";
import { cookieOf, refusalOf, SECURITY_HEADERS, setCookie } from "./guard.ts";

const page = { host: "127.0.0.1:8080", "sec-fetch-site": "same-origin", origin: "http://127.0.0.1:8080" };
const post = { ...page, "x-lockstep-dashboard": "1", "content-type": "application/json" };
const statusOf = (method: string, headers: Record<string, string>) => refusalOf({ method, headers })?.status;

describe("the guard", () => {
  it.each([
    ["a page's own read", "GET", page],
    ["an address that the user typed", "GET", { host: "localhost:8080", "sec-fetch-site": "none" }],
    [
      "a link from another page, which only opens this one",
      "GET",
      { host: "127.0.0.1:1", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
    ],
    ["a program without browser headers", "GET", { host: "[::1]:8080" }],
    ["a forwarded port", "GET", { host: "localhost:9999" }],
    ["a page's own change", "POST", post],
    ["signing out", "DELETE", { ...page, "x-lockstep-dashboard": "1" }],
  ])("serves %s", (_, method, headers) => expect(statusOf(method, headers)).toBeUndefined());

  it.each([
    ["a name that points at this machine (DNS rebinding)", "GET", { host: "evil.example:8080" }, 421],
    ["a name that only begins like an address", "GET", { host: "127.0.0.1.evil.example" }, 421],
    ["no Host at all", "GET", {}, 421],
    ["a read by another site's script", "GET", { ...page, "sec-fetch-site": "cross-site" }, 403],
    ["a read by another port of this machine", "GET", { ...page, "sec-fetch-site": "same-site" }, 403],
    [
      "another origin, from a browser without fetch metadata",
      "POST",
      { ...post, "sec-fetch-site": "same-origin", origin: "http://127.0.0.1:9090" },
      403,
    ],
    ["an opaque origin", "POST", { ...post, origin: "null" }, 403],
    [
      "a form of another site",
      "POST",
      { host: "127.0.0.1:8080", "content-type": "application/x-www-form-urlencoded", origin: "https://evil.example" },
      403,
    ],
    ["a change that navigates", "POST", { ...post, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, 403],
    ["a change without our header", "POST", { ...page, "content-type": "application/json" }, 403],
    ["a body that a form can send", "POST", { ...post, "content-type": "text/plain" }, 415],
    ["another method", "PUT", post, 405],
  ])("refuses %s", (_, method, headers, status) =>
    expect(statusOf(method, headers as Record<string, string>)).toBe(status),
  );

  it("allows no inline code, no other origin, no frame and no form target", () => {
    const policy = SECURITY_HEADERS["content-security-policy"] ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });
});

describe("the cookie", () => {
  it("is for this page alone, and not for scripts", () => {
    expect(setCookie("secret")).toBe("lockstep-session=secret; Path=/; HttpOnly; SameSite=Strict");
  });

  it("is found among others", () => expect(cookieOf("a=b; lockstep-session=s; c=d")).toBe("s"));

  it("is not believed if there are two: another port of this machine may have planted one", () =>
    expect(cookieOf("lockstep-session=mine; lockstep-session=planted")).toBeUndefined());
});
