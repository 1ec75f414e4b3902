import { gzipSync } from "node:zlib";

/** An entry of a test archive; whatever is odd about it is on purpose. */
export interface TestEntry {
  readonly path: string;
  readonly text?: string;
  /** tar's type flag; a file if absent. */
  readonly type?: string;
  readonly link?: string;
}

/** A tar written by hand, also with what no honest archive has. Independent of the code that it tests. */
export function testTar(entries: readonly TestEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, text = "", type = "0", link = "" }) => {
    const body = Buffer.from(text);
    const block = Buffer.alloc(512);
    block.write(path, 0, 100);
    block.write("0000644", 100);
    block.write(body.length.toString(8).padStart(11, "0"), 124);
    block.write("00000000000", 136);
    block.write("        ", 148);
    block.write(type, 156);
    block.write(link, 157, 100);
    block.write("ustar", 257);
    block.write("00", 263);
    block.write(
      `${[...block]
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, "0")}\0 `,
      148,
      "latin1",
    );
    return [block, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

export function testTgz(entries: readonly TestEntry[]): Buffer {
  return gzipSync(testTar(entries));
}

/** An archive of these files, each below the folder. */
export function packFiles(folder: string, files: Readonly<Record<string, string>>): Buffer {
  return testTgz(Object.entries(files).map(([path, text]) => ({ path: `${folder}/${path}`, text })));
}
