import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/index.ts";
import { CHART_LIMITS } from "../limits.ts";
import { RefusalError } from "../refusal.ts";
import { packFiles, type TestEntry, testTar, testTgz } from "../testing/tar.ts";
import { checkedChart, unpack } from "./chart.ts";
import { unzipped } from "./gzip.ts";
import { readTar, writeTar } from "./tar.ts";

const CHART = "apiVersion: v2\nname: web\nversion: 1.2.3\n";
const READER = { clock: systemClock, limits: CHART_LIMITS };
const never = new AbortController().signal;
const budget = () => ({ entries: 100, bytes: 1_000_000, fileBytes: 100_000 });

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof RefusalError)) throw new Error(`not refused: ${error}`);
  expect(error.reason).toBe("BadArchive");
  expect(error.remedy).not.toBe("");
  return error.message;
}

const refusal = (entries: readonly TestEntry[], limits = {}) =>
  refusalOf(unpack(testTgz(entries), "the archive", { ...CHART_LIMITS, ...limits }));

describe("an archive", () => {
  it("is read with its files, whatever wrote it", async () => {
    const files = await unpack(
      testTgz([
        { path: "pax_global_header", type: "g", text: "52 comment=0123456789012345678901234567890123456789\n" },
        { path: "./", type: "5" },
        { path: "./web/", type: "5" },
        { path: "./web/a.yaml", text: "a: 1" },
        { path: "ignored", type: "x", text: "17 path=web/long\n" },
        { path: "short", text: "b: 2" },
        { path: "././@LongLink", type: "L", text: `web/${"x".repeat(120)}\0` },
        { path: "cut", text: "c: 3" },
      ]),
      "the archive",
      CHART_LIMITS,
    );
    expect(files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()])).toEqual([
      ["web/a.yaml", "a: 1"],
      ["web/long", "b: 2"],
      [`web/${"x".repeat(120)}`, "c: 3"],
    ]);
  });

  it("is refused for a path that leaves it", async () => {
    const leaves = 'the archive contains the path "web/../../x", which leaves the archive';
    expect(await refusal([{ path: "web/../../x" }])).toBe(leaves);
    expect(await refusal([{ path: "/etc/passwd" }])).toBe('the archive contains the absolute path "/etc/passwd"');
    expect(await refusal([{ path: "C:/x" }])).toContain("absolute path");
    expect(await refusal([{ path: "web\\..\\x" }])).toContain("characters that are not allowed");
    expect(await refusal([{ path: "web//x" }])).toContain("with an empty part");
    expect(await refusal([{ path: `${"d/".repeat(40)}x` }])).toContain("too deep");
  });

  it("is refused for links, devices and FIFOs, by name", async () => {
    expect(await refusal([{ path: "web/l", type: "2", link: "/etc" }])).toBe("the archive contains the link 'web/l'");
    expect(await refusal([{ path: "web/l", type: "1", link: "web/x" }])).toContain("the link 'web/l'");
    expect(await refusal([{ path: "web/d", type: "3" }])).toContain("the device 'web/d'");
    expect(await refusal([{ path: "web/f", type: "6" }])).toContain("the FIFO 'web/f'");
    expect(await refusal([{ path: "web/s", type: "S" }])).toContain("an entry of an unknown type, 'web/s'");
  });

  it("is refused if one path occurs twice, or as a file and as a folder", async () => {
    expect(await refusal([{ path: "web/x" }, { path: "./web/x" }])).toContain("'./web/x' twice");
    expect(await refusal([{ path: "web" }, { path: "web/x" }])).toContain("'web' as a file and as a folder");
    expect(await refusal([{ path: "web/x" }, { path: "web" }])).toContain("'web' twice");
  });

  it("is refused for too many entries, too large a file, or too many bytes in all", async () => {
    const many = Array.from({ length: 5 }, (_, index) => ({ path: `web/${index}`, text: "0123456789" }));
    expect(await refusal(many, { archiveEntries: 4 })).toBe("the archive has too many files and folders");
    expect(await refusal(many, { fileBytes: 9 })).toBe("the archive: 'web/0' has more than 9 bytes");
    expect(await refusal(many, { unpackedBytes: 49 })).toBe("the archive unpacks to too many bytes");
  });

  it("that would unpack to gigabytes is given up at the limit", async () => {
    const bomb = gzipSync(Buffer.alloc(30_000_000));
    expect(bomb.length).toBeLessThan(50_000);
    expect(await refusalOf(unzipped(bomb, 1_000_000, "the archive"))).toBe(
      "the archive unpacks to more than 1000000 bytes",
    );
  });

  it("is refused if it is damaged, cut off or something else", async () => {
    const tar = testTar([{ path: "web/x", text: "0123456789" }]);
    const damaged = Buffer.from(tar);
    damaged.write("y", 2);
    const refusalOfTar = (bytes: Uint8Array) => refusalOf(unpack(gzipSync(bytes), "the archive", CHART_LIMITS));
    expect(await refusalOfTar(damaged)).toBe("the archive is not a tar archive, or it is damaged");
    expect(await refusalOfTar(tar.subarray(0, 515))).toBe("the archive is cut off inside an entry");
    expect(await refusalOfTar(tar.subarray(0, 1024))).toBe(
      "the archive has no end: it is cut off, or not a tar archive",
    );
    expect(await refusalOf(unpack(Buffer.from("<html>"), "the archive", CHART_LIMITS))).toBe(
      "the archive is not compressed with gzip, or it is damaged",
    );
    expect(await refusal([])).toBe("the archive contains no files");
  });
});

describe("any bytes", () => {
  it("are read or refused, and what is read stays inside", () => {
    const path = fc.constantFrom("a", "a/b", "../x", "/x", "a/../../x", "./a", "a\\b", "", ".", "..", "a//b", "x\0y");
    const type = fc.constantFrom("0", "1", "2", "3", "5", "6", "x", "g", "L", "K", "7", "\0");
    const entry = fc.record({ path, type, text: fc.string({ maxLength: 600 }) });
    const damage = fc.array(fc.tuple(fc.nat(3000), fc.nat(255)), { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 4 }), damage, (entries, changes) => {
        const tar = testTar(entries);
        for (const [at, byte] of changes) if (at < tar.length) tar[at] = byte;
        try {
          for (const file of readTar(tar, "the archive", budget())) {
            expect(file.path).not.toMatch(/^\/|(?:^|\/)\.\.(?:\/|$)|\\|^$/);
          }
        } catch (error) {
          if (!(error instanceof RefusalError)) throw error;
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("an archive that is written again", () => {
  it("has the same files, also those with long names", () => {
    const files = ["a", "b".repeat(99), `${"c/".repeat(10)}${"d".repeat(90)}`, `é${"e".repeat(98)}`].map(
      (path, index) => ({
        path,
        bytes: Buffer.from("x".repeat(index * 512)),
      }),
    );
    const read = readTar(writeTar(files), "the archive", budget());
    expect(read.map(({ path, bytes }) => [path, bytes.length])).toEqual(
      files.map(({ path, bytes }) => [path, bytes.length]),
    );
  });
});

describe("a chart's archive", () => {
  it("gives the chart's name and version, and the files of its subcharts", async () => {
    const subchart = packFiles("db", { "Chart.yaml": "name: db\nversion: 0.1.0\n", "values.schema.json": "{}" });
    const entries = testTar([
      { path: "web/Chart.yaml", text: CHART },
      { path: "web/charts/db-0.1.0.tgz", text: "placeholder" },
    ]);
    const files = readTar(entries, "the archive", budget()).map((file) =>
      file.path.endsWith(".tgz") ? { ...file, bytes: subchart } : file,
    );
    const chart = await checkedChart(gzipSync(writeTar(files)), "the chart", READER, never);
    expect(chart).toMatchObject({ name: "web", version: "1.2.3" });
    expect(chart.files.map(({ path }) => path)).toContain("web/charts/db-0.1.0.tgz/db/values.schema.json");
  });

  it("is refused for a link inside a subchart that is an archive", async () => {
    const subchart = testTgz([{ path: "db/l", type: "2", link: "/" }]);
    const files = [
      { path: "web/Chart.yaml", bytes: Buffer.from(CHART) },
      { path: "web/charts/db.tgz", bytes: subchart },
    ];
    const chart = checkedChart(gzipSync(writeTar(files)), "the chart", READER, never);
    expect(await refusalOf(chart)).toBe("the chart: web/charts/db.tgz contains the link 'db/l'");
  });

  it("is refused without a Chart.yaml, without a version, or with files outside its folder", async () => {
    const of = (entries: TestEntry[]) => refusalOf(checkedChart(testTgz(entries), "the chart", READER, never));
    expect(await of([{ path: "web/values.yaml" }])).toBe("the chart has no Chart.yaml in its folder 'web'");
    expect(await of([{ path: "web/Chart.yaml", text: "name: web" }])).toBe(
      "the chart: Chart.yaml has no name or no version",
    );
    expect(await of([{ path: "web/Chart.yaml", text: CHART }, { path: "b/x" }])).toContain("'b/x' is outside");
  });
});
