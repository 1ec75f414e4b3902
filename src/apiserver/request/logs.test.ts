import { expect, it } from "vitest";
import { logResponse } from "./logs.ts";

const read = (text: string, query = "") => logResponse(text, new URLSearchParams(query)).body;

it("a log is complete, or its last lines, or a number of bytes of them", () => {
  expect(read("one\ntwo\nthree")).toBe("one\ntwo\nthree\n");
  expect(read("one\ntwo\nthree\n", "tailLines=2")).toBe("two\nthree\n");
  expect(read("one\ntwo\n", "tailLines=9")).toBe("one\ntwo\n");
  expect(read("one\ntwo\nthree\n", "tailLines=2&limitBytes=5")).toBe("two\nt");
  expect(read("", "tailLines=2")).toBe("");
  expect(() => read("one", "tailLines=-1")).toThrow("tailLines must be a whole number");
});
