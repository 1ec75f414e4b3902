import { describe, expect, it } from "vitest";
import { bundledFiles } from "../bundle.mjs";
import { copyrightAtTheTop, notice, noticeText } from "./notice.ts";

const pack = (name: string, ...notices: string[]) => ({ name, version: "1.0.0", licence: "MIT", notices });

describe("NOTICE", () => {
  it("names each package of the bundle with version and licence, and no package that only tests use", async () => {
    const [file] = await notice();
    const names = new Set((await bundledFiles()).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]));
    names.delete(undefined);
    expect(names).toContain("undici");
    for (const name of names) expect(file?.text).toMatch(new RegExp(`^${name} \\d[^ ]*, .+$`, "m"));
    expect(file?.text).not.toMatch(/^(vitest|esbuild|fast-check) /m);
  });

  it("states one licence text once for all packages that share it, and refers to LICENSE for the same licence", () => {
    const text = noticeText([pack("a", "Be kind."), pack("b", "Be kind."), pack("c", "Apache")], (t) => t === "Apache");
    expect(text.match(/Be kind\./g)).toHaveLength(1);
    expect(text).toContain("a 1.0.0, MIT\nb 1.0.0, MIT\n\nBe kind.");
    expect(text).toContain("c 1.0.0, MIT\n\nThe Apache License, Version 2.0; see LICENSE.");
  });

  it("cannot be generated while a bundled package has neither a licence file nor a notice in its sources", () => {
    expect(() => noticeText([pack("mute")], () => false)).toThrow("mute is bundled");
  });

  it("keeps the copyright comment at the top of a source file, and no other comment", () => {
    expect(copyrightAtTheTop("// Copyright 2020 A\n// All rights.\ncode()\n")).toBe("Copyright 2020 A\nAll rights.");
    expect(copyrightAtTheTop('"use strict";\n/*!\n * Copyright B\n */\ncode()')).toBe("Copyright B");
    expect(copyrightAtTheTop("// adds numbers\ncode() // Copyright C\n")).toBeUndefined();
  });
});
