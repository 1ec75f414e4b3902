import { expect, it } from "vitest";
import { systemClock } from "../../runtime/index.ts";
import { Values } from "./values.ts";

/** Resolves when the application is due. */
function begin() {
  const due: string[] = [];
  let told = () => {};
  const next = () =>
    new Promise<void>((resolve) => {
      told = resolve;
    });
  const changed = (key: string) => {
    due.push(key);
    told();
  };
  const values = new Values({ clock: systemClock, changed, signal: new AbortController().signal });
  return { values, due, next };
}

const large = (text: string) => `${text}\n${"# a comment\n".repeat(1_000)}`;

it("small values are read at once, and what is no YAML is named with its line", () => {
  const { values } = begin();
  expect(values.read("a", "default", "x: {z: on}")).toEqual({ kind: "read", value: { x: { z: true } } });
  expect(values.read("a", "default", "")).toEqual({ kind: "read", value: {} });
  expect(values.read("a", "default", "x: 1\n\ty: 2")).toMatchObject({
    message: expect.stringMatching(/^line 2: is not/),
  });
  expect(values.read("a", "default", "x: *y")).toMatchObject({ kind: "invalid" });
});

it("large values are read in the background, once, and make their application due", async () => {
  const { values, due, next } = begin();
  const first = next();
  expect(values.read("a", "default", large("x: on"))).toBeUndefined();
  expect(values.read("a", "default", large("x: on"))).toBeUndefined();
  await first;
  const read = values.read("a", "default", large("x: on"));
  expect([read, due]).toEqual([{ kind: "read", value: { x: true } }, ["a"]]);
  expect(values.read("a", "default", large("x: on"))).toBe(read);
  const second = next();
  expect(values.read("b", "default", large("x: *y"))).toBeUndefined();
  await second;
  expect(values.read("b", "default", large("x: *y"))).toMatchObject({ kind: "invalid" });
  values.forget("a");
  expect(values.read("a", "default", large("x: on"))).toBeUndefined();
});
