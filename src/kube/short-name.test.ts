import { describe, expect, it } from "vitest";
import { shortName } from "./short-name.ts";

const LABEL_VALUE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

describe("a short name", () => {
  it("differs for two long names with the same beginning", () => {
    const long = "the-database-of-a-team-that-likes-to-say-everything-in-its-names-";
    const [blue, green] = [`${long}blue`, `${long}green`];
    expect(blue.slice(0, 63)).toBe(green.slice(0, 63));
    expect(shortName(blue, `default/${blue}`)).not.toBe(shortName(green, `default/${green}`));
  });

  it("differs for the same name in two namespaces", () => {
    expect(shortName("db", "blue/db")).not.toBe(shortName("db", "green/db"));
  });

  it("starts with a recognizable part", () => {
    expect(shortName("web", "default/web")).toMatch(/^web-[0-9a-f]{24}$/);
    expect(shortName("my.Data_base", "default/my.Data_base")).toMatch(/^my-data-base-[0-9a-f]{24}$/);
  });

  it.each(["", "-", "a", "x".repeat(253), `${"y".repeat(37)}...z`, "A.b_c"])(
    "of '%s' fits a label and a name",
    (name) => {
      expect(shortName(name, `default/${name}`)).toMatch(LABEL_VALUE);
    },
  );
});
