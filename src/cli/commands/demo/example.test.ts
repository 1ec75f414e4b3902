import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { etcdExample, exampleObjects, STATEFULSET_EXAMPLE, XLINE_EXAMPLE } from "../up/example.ts";

const EXAMPLES = [STATEFULSET_EXAMPLE, XLINE_EXAMPLE, etcdExample("127.77.{ordinal}.1")];

it.each(EXAMPLES)("examples/$name has the objects that `up` applies, in the same order", (example) => {
  const folder = new URL(`../../../../examples/${example.name}`, import.meta.url).pathname;
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .sort();
  const objects = files.map((name) => parse(readFileSync(join(folder, name), "utf8")));
  expect(objects).toEqual(exampleObjects(example, ["member1", "member2", "member3"]));
});
