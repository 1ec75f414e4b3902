import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { generateBundled } from "./bundled.ts";

it("the bundled customizations in the source are those of their YAML files", () => {
  const { path, content } = generateBundled();
  expect(readFileSync(path, "utf8"), `${path} is not current: run npm run generate`).toBe(content);
});
