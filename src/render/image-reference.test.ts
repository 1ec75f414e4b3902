import { describe, expect, it } from "vitest";
import { formatImage, parseImage, withTagOrDigest } from "./image-reference.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

describe("image names", () => {
  it.each([
    ["nginx", { registry: "", repository: "nginx", tag: "", digest: "" }],
    ["team/nginx:1.2", { registry: "", repository: "team/nginx", tag: "1.2", digest: "" }],
    ["localhost/nginx", { registry: "localhost", repository: "nginx", tag: "", digest: "" }],
    ["r.example:5000/a/b:v1", { registry: "r.example:5000", repository: "a/b", tag: "v1", digest: "" }],
    [`r.example/a@${DIGEST}`, { registry: "r.example", repository: "a", tag: "", digest: DIGEST }],
  ])("splits and reassembles %s", (image, parts) => {
    expect(parseImage(image)).toEqual(parts);
    expect(formatImage(parts)).toBe(image);
  });

  it("drops the digest if there is also a tag, as Karmada does", () => {
    expect(parseImage(`r.example/a:v1@${DIGEST}`)).toMatchObject({ tag: "v1", digest: "" });
  });

  it.each(["", "a/UPPER", "a b", "a:", "a@sha256:short", "-a", `${"a".repeat(256)}`])("refuses '%s'", (image) => {
    expect(parseImage(image)).toBeUndefined();
  });

  it("replaces a tag by a digest and a digest by a tag, and ignores a value that is neither", () => {
    const tagged = { registry: "", repository: "a", tag: "v1", digest: "" };
    expect(formatImage(withTagOrDigest(tagged, DIGEST))).toBe(`a@${DIGEST}`);
    expect(formatImage(withTagOrDigest({ ...tagged, tag: "", digest: DIGEST }, "v2"))).toBe("a:v2");
    expect(withTagOrDigest(tagged, "@not a tag")).toEqual(tagged);
  });
});
