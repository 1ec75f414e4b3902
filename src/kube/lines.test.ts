import fc from "fast-check";
import { expect, it } from "vitest";
import { LineSplitter, LineTooLongError } from "./lines.ts";

it("wherever the text is cut, the lines are complete and in order", () => {
  const line = fc.string({ minLength: 1 }).filter((text) => !text.includes("\n") && text.trim() !== "");
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(20)), (lines, cuts) => {
      const text = lines.map((each) => `${each}\n`).join("");
      const splitter = new LineSplitter(1_000);
      const found: string[] = [];
      let at = 0;
      for (const cut of [...cuts, text.length]) {
        found.push(...splitter.push(text.slice(at, at + cut)));
        at += cut;
      }
      expect(found).toEqual(lines);
      expect(splitter.hasRest).toBe(false);
    }),
  );
});

it("a line without an end fails at the limit", () => {
  const splitter = new LineSplitter(100);
  const read = () => {
    for (let chunk = 0; chunk < 20; chunk++) for (const _line of splitter.push("x".repeat(10)));
  };
  expect(read).toThrow(LineTooLongError);
});
