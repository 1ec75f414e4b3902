import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { exampleObjects } from "./up-example.ts";

const FOLDER = new URL("../../examples/statefulset", import.meta.url).pathname;

test("examples/statefulset has the objects that `up` applies, in the same order", () => {
  const files = readdirSync(FOLDER)
    .filter((name) => name.endsWith(".yaml"))
    .sort();
  const objects = files.map((name) => parse(readFileSync(join(FOLDER, name), "utf8")));
  expect(objects).toEqual(exampleObjects(["member1", "member2", "member3"]));
});
