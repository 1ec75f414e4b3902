import { expect, it } from "vitest";
import { indexesText, parseIndexes, sizeOf, upTo } from "./index-set.ts";

it("[J2] every index that a Job may have is one of a set: otherwise nothing would be left of the work, and it would start again and again", () => {
  const most = 2 ** 31 - 1;
  const text = indexesText(upTo(most));
  expect(text).toBe("0-2147483646");
  expect(sizeOf(parseIndexes(text) ?? [])).toBe(most);
});

it("what is no set of a Job's indexes is none", () => {
  for (const text of ["2147483647", "3-1", "-1", "1,,2", "a", "0-99999999999"])
    expect(parseIndexes(text)).toBeUndefined();
});
