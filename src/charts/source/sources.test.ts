import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/index.ts";
import { selfSigned } from "../../runtime/testing/certificates.ts";
import { CHART_LIMITS } from "../limits.ts";
import { RefusalError } from "../refusal.ts";
import { ChartHost, type ChartHostOptions, digestOf, type HostedChart, manifestOf } from "../testing/host.ts";
import { packFiles } from "../testing/tar.ts";
import type { ChartLocation } from "../types.ts";
import { SourceHttp } from "./http.ts";
import { Sources } from "./sources.ts";

const never = new AbortController().signal;
const hosts: ChartHost[] = [];
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.stop();
});

const chart = (version: string): HostedChart => ({
  name: "web",
  version,
  archive: packFiles("web", { "Chart.yaml": `name: web\nversion: ${version}\n` }),
});
const CHARTS = ["1.0.0", "1.4.0", "2.0.0+build.5", "3.0.0-rc.1"].map(chart);

async function start(options: ChartHostOptions = {}): Promise<ChartHost> {
  const host = await ChartHost.start({ charts: CHARTS, ...options });
  hosts.push(host);
  return host;
}

function sourcesWith({ allowLoopback = true, timeoutMs = 10_000, keepMs = 60_000, limits = {} } = {}): Sources {
  const http = new SourceHttp({ clock: systemClock, timeoutMs, allowLoopback });
  return new Sources({ http, clock: systemClock, limits: { ...CHART_LIMITS, ...limits }, keepMs });
}

async function refusalOf(promise: Promise<unknown>): Promise<{ reason: string; message: string }> {
  const error = await promise.catch((thrown: unknown) => thrown);
  if (!(error instanceof RefusalError)) throw new Error(`not refused: ${error}`);
  expect(error.remedy).not.toBe("");
  return { reason: error.reason, message: error.message };
}

const fetched = (location: ChartLocation, sources = sourcesWith()) => sources.chart(location, "default", never);
const refusal = (location: ChartLocation, sources = sourcesWith()) => refusalOf(fetched(location, sources));

describe("a chart of a repository", () => {
  it("is found by version or range, and is what the index says", async () => {
    const { repository } = await start();
    const of = async (version: string) => (await fetched({ repository, chart: "web", version })).digest;
    expect(await of("1.0.0")).toBe(`sha256:${digestOf(CHARTS[0]!.archive)}`);
    expect(await of("^1")).toBe(`sha256:${digestOf(CHARTS[1]!.archive)}`);
    expect(await of("")).toBe(`sha256:${digestOf(CHARTS[2]!.archive)}`);
  });

  it("is refused if its digest differs from the index", async () => {
    const { repository } = await start({ charts: [{ ...chart("1.0.0"), digest: "f".repeat(64) }] });
    const found = digestOf(CHARTS[0]!.archive);
    expect(await refusal({ repository, chart: "web", version: "1.0.0" })).toEqual({
      reason: "DigestMismatch",
      message: `web-1.0.0 has the digest sha256:${found}, and the repository's index states sha256:${"f".repeat(64)}`,
    });
  });

  it("is refused if the index states a digest that is none", async () => {
    const { repository } = await start({ charts: [{ ...chart("1.0.0"), digest: "12345" }] });
    const { reason, message } = await refusal({ repository, chart: "web", version: "1.0.0" });
    expect(reason).toBe("DigestMismatch");
    expect(message).toBe("web-1.0.0: the repository's index states '12345', which is no SHA-256 digest");
  });

  it("that is not there is refused by what is missing", async () => {
    const { repository, address } = await start();
    expect(await refusal({ repository, chart: "shop", version: "1" })).toEqual({
      reason: "SourceUnavailable",
      message: `the repository ${address} has no chart 'shop'`,
    });
    expect((await refusal({ repository, chart: "web", version: "^9" })).message).toBe(
      `the repository ${address} has no version of 'web' that matches '^9'; it has 1.0.0, 1.4.0, 2.0.0+build.5, 3.0.0-rc.1`,
    );
    expect((await refusal({ repository, chart: "web", version: "newest" })).message).toContain(
      "neither a version nor a range",
    );
    expect((await refusal({ repository: `${repository}/x`, chart: "web", version: "1" })).message).toBe(
      "index.yaml of the repository: not found (HTTP 404)",
    );
    const text = await start({ intercept: (_request, response) => void response.end("<html>") === undefined });
    expect((await refusal({ repository: text.repository, chart: "web", version: "1" })).message).toContain(
      "is not the index of a chart repository",
    );
  });

  it("is asked for again only after a while, and with other credentials", async () => {
    const host = await start();
    const sources = sourcesWith();
    const location = { repository: host.repository, chart: "web", version: "1.0.0" };
    await fetched(location, sources);
    await fetched(location, sources);
    expect(host.requests).toHaveLength(2);
    await fetched({ ...location, credentials: { username: "u", password: "p" } }, sources);
    expect(host.requests).toHaveLength(4);
    await fetched(location, sourcesWith({ keepMs: 0 }));
    expect(host.requests).toHaveLength(6);
  });
});

describe("credentials", () => {
  const credentials = { username: "me", password: "secret" };

  it("open a repository, and are in no message when they are wrong", async () => {
    const { repository } = await start({ login: "me:secret" });
    const location = { repository, chart: "web", version: "1.0.0" };
    expect((await fetched({ ...location, credentials })).bytes.length).toBeGreaterThan(0);
    const { reason, message } = await refusal({ ...location, credentials: { username: "me", password: "wrong" } });
    expect(reason).toBe("SourceUnavailable");
    expect(message).toBe("index.yaml of the repository: the host refuses access (HTTP 401)");
  });

  it("never go to another host, neither by a redirect nor by an address in the index", async () => {
    const other = await start();
    const redirecting = await start({
      intercept: (request, response) => {
        response.writeHead(302, { location: `http://${other.address}${request.url}` }).end();
        return true;
      },
    });
    await fetched({ repository: redirecting.repository, chart: "web", version: "1.0.0", credentials });
    expect(redirecting.requests.every((request) => request.includes("Basic"))).toBe(true);
    const index = `entries: {web: [{version: 1.0.0, urls: ["http://${other.address}/repo/web-1.0.0.tgz"]}]}`;
    const pointing = await start({
      intercept: (request, response) => {
        if (request.url?.endsWith("index.yaml")) response.end(index);
        return request.url?.endsWith("index.yaml") === true;
      },
    });
    await fetched({ repository: pointing.repository, chart: "web", version: "1.0.0", credentials });
    expect(other.requests).toHaveLength(3);
    expect(other.requests.filter((request) => request.includes("Basic"))).toEqual([]);
  });

  it("get a token from the registry's own host", async () => {
    const host = await start({ login: "me:secret", wantsToken: true });
    const location = { oci: `oci://${host.address}/charts/web`, version: "1.0.0" };
    expect((await fetched({ ...location, credentials })).bytes.length).toBeGreaterThan(0);
    expect(host.requests.filter((request) => request.startsWith("/token"))).toEqual([
      expect.stringMatching(/^\/token\?.* Basic /),
    ]);
    expect((await refusal(location)).message).toContain("the host refuses access (HTTP 401)");
  });
});

describe("a chart of a registry", () => {
  it("is found by tag, range or digest", async () => {
    const { address } = await start();
    const oci = `oci://${address}/charts/web`;
    const of = async (location: ChartLocation) => (await fetched(location)).digest;
    expect(await of({ oci, version: "1.0.0" })).toBe(`sha256:${digestOf(CHARTS[0]!.archive)}`);
    expect(await of({ oci, version: "2.0.0+build.5" })).toBe(`sha256:${digestOf(CHARTS[2]!.archive)}`);
    expect(await of({ oci, version: ">=1 <2" })).toBe(`sha256:${digestOf(CHARTS[1]!.archive)}`);
    const pinned = `${oci}@sha256:${digestOf(manifestOf(CHARTS[1]!))}`;
    expect(await of({ oci: pinned, version: "" })).toBe(`sha256:${digestOf(CHARTS[1]!.archive)}`);
  });

  it("is refused if the manifest or the archive is not what its digest says", async () => {
    const other = chart("6.6.6");
    const swap = (part: string, bytes: Buffer) =>
      start({
        intercept: (request, response) =>
          request.url?.includes(part) === true && void response.end(bytes) === undefined,
      });
    const blobs = await swap("/blobs/", other.archive);
    expect(await refusal({ oci: `oci://${blobs.address}/charts/web`, version: "1.0.0" })).toMatchObject({
      reason: "DigestMismatch",
      message: expect.stringContaining("/charts/web:1.0.0 has the digest"),
    });
    const manifests = await swap("/manifests/", manifestOf(other));
    const pinned = `oci://${manifests.address}/charts/web@sha256:${digestOf(manifestOf(CHARTS[1]!))}`;
    expect(await refusal({ oci: pinned, version: "" })).toMatchObject({
      reason: "DigestMismatch",
      message: expect.stringContaining("the manifest"),
    });
  });

  it("is refused if it is an image, is not there, or has no valid address", async () => {
    const image = await start({ intercept: (_request, response) => void response.end('{"layers": []}') === undefined });
    expect(await refusal({ oci: `oci://${image.address}/charts/web`, version: "1.0.0" })).toMatchObject({
      reason: "BadArchive",
    });
    const { address } = await start();
    expect((await refusal({ oci: `oci://${address}/charts/web`, version: "9.9.9" })).message).toBe(
      `${address}/charts/web:9.9.9: not found (HTTP 404)`,
    );
    expect((await refusal({ oci: `oci://${address}/charts/web`, version: "^9" })).message).toBe(
      `${address}/charts/web has no version that matches '^9'`,
    );
    expect((await refusal({ oci: "oci://host", version: "1" })).message).toContain("is not an OCI address");
  });
});

describe("an archive by its address", () => {
  it("is what its digest says, fetched once, or refused", async () => {
    const host = await start();
    const url = `${host.repository}/web-1.0.0.tgz`;
    const sources = sourcesWith({ keepMs: 0 });
    const location = { archive: { url, sha256: digestOf(CHARTS[0]!.archive) } };
    await fetched(location, sources);
    await fetched(location, sources);
    expect(host.requests).toHaveLength(1);
    expect(await refusal({ archive: { url, sha256: "f".repeat(64) } })).toMatchObject({
      reason: "DigestMismatch",
      message: expect.stringContaining("'sha256' states"),
    });
    expect((await refusal({ archive: { url, sha256: "abc" } })).message).toContain("no SHA-256 digest");
    expect((await refusal({ archive: { url: "no address", sha256: "abc" } })).message).toContain("is not a URL");
  });

  it("may be in a registry, too", async () => {
    const { address } = await start();
    const location = { oci: `oci://${address}/charts/web`, version: "1.0.0" };
    expect((await sourcesWith().archive(location, "default", never)).digest).toBe(
      `sha256:${digestOf(CHARTS[0]!.archive)}`,
    );
  });

  it("is cut off at the limit, as bytes of a ConfigMap are", async () => {
    const { repository, address } = await start();
    const small = sourcesWith({ limits: { archiveBytes: 10 } });
    expect(await refusal({ archive: { url: `${repository}/web-1.0.0.tgz`, sha256: "f".repeat(64) } }, small)).toEqual({
      reason: "TooLarge",
      message: `${address} sent more than 10 bytes`,
    });
    expect(await refusal({ archive: { bytes: Buffer.alloc(11) } }, small)).toMatchObject({ reason: "BadArchive" });
  });
});

describe("a host", () => {
  it("that never answers is given up after the time limit", async () => {
    const host = await start({ intercept: () => true });
    expect(
      await refusal({ repository: host.repository, chart: "web", version: "1" }, sourcesWith({ timeoutMs: 200 })),
    ).toEqual({
      reason: "SourceUnavailable",
      message: `${host.address} did not answer within 0.2 s`,
    });
  });

  it("that is down, breaks off or redirects without an end is named", async () => {
    const gone = await start();
    await hosts.pop()?.stop();
    expect((await refusal({ repository: gone.repository, chart: "web", version: "1" })).message).toMatch(
      /^127\.0\.0\.1:\d+ could not be reached: .*ECONNREFUSED/,
    );
    const loop = await start({
      intercept: (_request, response) => void response.writeHead(302, { location: "/" }).end() === undefined,
    });
    expect((await refusal({ repository: loop.repository, chart: "web", version: "1" })).message).toContain(
      "redirects too often",
    );
    const broken = await start({ intercept: (_request, response) => void response.destroy() === undefined });
    expect((await refusal({ repository: broken.repository, chart: "web", version: "1" })).message).toContain(
      "could not be reached",
    );
  });

  it("must have a certificate that is trusted", async () => {
    const { cert, key } = await selfSigned("127.0.0.1");
    const host = await start({ tls: { cert, key } });
    const location = { repository: host.repository, chart: "web", version: "1.0.0" };
    expect((await refusal(location)).message).toMatch(/self-signed certificate/);
    expect((await fetched({ ...location, credentials: { ca: cert } })).bytes.length).toBeGreaterThan(0);
  });

  it("is never on loopback, unless that is allowed, nor where clouds keep credentials, nor without TLS", async () => {
    const strict = sourcesWith({ allowLoopback: false });
    const of = async (repository: string, sources = sourcesWith()) =>
      (await refusal({ repository, chart: "web", version: "1" }, sources)).message;
    expect(await of("https://127.0.0.1:1", strict)).toBe("the address 127.0.0.1 is not allowed for a source");
    expect(await of("https://localhost:1", strict)).toMatch(
      /the address (?:127\.0\.0\.1|::1) is not allowed for a source/,
    );
    expect(await of("https://[::ffff:127.0.0.1]", strict)).toContain("is not allowed");
    expect(await of("https://169.254.169.254")).toBe("the address 169.254.169.254 is not allowed for a source");
    expect(await of("http://charts.example")).toBe(
      "http://charts.example is not allowed: a source must begin with https://",
    );
    expect(await of("http://127.0.0.1:1", strict)).toContain("must begin with https://");
    expect(await of("file:///etc")).toContain("must begin with https://");
    expect(await of("https://me:secret@charts.example")).toBe(
      "a source's address must not contain a password; use 'credentials'",
    );
  });

  it("is not asked when the caller has given up", async () => {
    const { repository, requests } = await start();
    const gaveUp = AbortSignal.abort(new Error("enough"));
    await expect(sourcesWith().chart({ repository, chart: "web", version: "1" }, "default", gaveUp)).rejects.toThrow(
      "enough",
    );
    expect(requests).toEqual([]);
  });
});
