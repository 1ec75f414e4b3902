import { describe, expect, it } from "vitest";
import type { RevisionContent } from "../../../render/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { changesBetween } from "./revision-changes.ts";

interface Given {
  readonly containers?: JsonObject[];
  readonly config?: string;
  readonly restart?: string;
}

function revision({ containers = [container("web", "web:1")], config, restart }: Given = {}): RevisionContent {
  const metadata = { name: "web-config", namespace: "default" };
  return {
    template: {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "web", namespace: "default" },
      spec: { template: { spec: { containers } } },
    },
    dependencies:
      config === undefined ? [] : [{ apiVersion: "v1", kind: "ConfigMap", metadata, data: { "app.cnf": config } }],
    overrides: [],
    ...(restart !== undefined && { restart }),
  };
}

function container(name: string, image: string, more: JsonObject = {}): JsonObject {
  return { ...more, name, image };
}

const CONTAINERS = "spec.template.spec.containers";

describe("what a revision changed", () => {
  it("names the image also if a container was added, and names it first", () => {
    const args = Array.from({ length: 9 }, (_, index) => `--flag${index}=1`);
    const before = revision({ containers: [container("web", "web:1", { args })] });
    const changed = args.map((arg) => arg.replace("=1", "=2"));
    const after = revision({
      containers: [container("proxy", "proxy:1"), container("web", "web:2", { args: changed })],
    });
    expect(changesBetween(before, after)).toEqual([
      `${CONTAINERS}[web].image: web:1 -> web:2`,
      ...changed.map((arg, index) => `${CONTAINERS}[web].args[${index}]: ${args[index]} -> ${arg}`),
      `${CONTAINERS}[proxy]: added {"name":"proxy","image":"proxy:1"}`,
    ]);
  });

  it("names a removed container, and one that has only moved", () => {
    const two = [container("web", "web:1"), container("proxy", "proxy:1")];
    expect(changesBetween(revision({ containers: two }), revision())).toEqual([`${CONTAINERS}[proxy]: removed`]);
    const moved = revision({ containers: [...two].reverse() });
    expect(changesBetween(revision({ containers: two }), moved)).toEqual([`${CONTAINERS}: in another order`]);
  });

  it("shows the differing lines of a text in one line", () => {
    const config = (max: number, more = "") => revision({ config: `[mysqld]\nmax=${max}\n${more}port=1\n` });
    const field = "ConfigMap web-config data.app.cnf";
    expect(changesBetween(config(100), config(200))).toEqual([`${field}: line 2: max=100 -> max=200`]);
    expect(changesBetween(config(100), config(200, "a=1\nb=2\n"))).toEqual([
      `${field}: line 2: max=100 -> max=200 (and 2 more lines)`,
    ]);
    expect(changesBetween(config(1), config(1, "a=1\n"))).toEqual([`${field}: line 3: (none) -> a=1`]);
  });

  it("shows a value with line breaks in one line, and cuts a long one", () => {
    const script = container("web", "web:1", { command: ["sh", "-c", `set -e\n${"echo a long text; ".repeat(9)}`] });
    const [line, ...others] = changesBetween(revision(), revision({ containers: [script] }));
    expect(others).toEqual([]);
    expect(line).toMatch(
      /^spec\.template\.spec\.containers\[0\]\.command: \(none\) -> \["sh","-c","set -e\\necho .*\.\.\.$/,
    );
    expect(line).not.toContain("\n");
  });

  it("names added and removed dependencies, and restarts", () => {
    expect(changesBetween(revision(), revision({ config: "a", restart: "t1" }))).toEqual([
      "ConfigMap web-config: added",
      "restarted at t1",
    ]);
    expect(changesBetween(revision({ restart: "t1" }), revision())).toEqual(["no restart mark"]);
  });
});
