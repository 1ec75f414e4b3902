/** `plan` and `render` from files alone. */
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { manifestDiff } from "../../preview/rendering.ts";
import { exampleObjects, exampleTemplate, runAlone } from "../../testing/harness.ts";

const yaml = (objects: readonly unknown[]) => objects.map((object) => stringify(object)).join("---\n");
const offline = (text: string, ...more: string[]) =>
  runAlone(["plan", "-f", "f.yaml", "--offline", ...more], { files: { "f.yaml": text } });

describe("plan of files", () => {
  it("shows every step with its reason, quorum and budget, and what each cluster would get", async () => {
    const { code, out, err } = await offline(yaml(exampleObjects()));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(`\n${out}`).toMatchInlineSnapshot(`
      "
      default/web  revision web-2b6pjb9s4k, 5 instances
      note: offline: every cluster of spec.topology is taken for Ready, and nothing for deployed yet

        1. member1  deploy  web-0  time unknown
           why: the next instance in the global order: ordinal 0
           quorum: 0 of 1 ready, 1 needed; budget: 0 unavailable + 0 that may go down, of 1
        2. member1  deploy  web-1  1 -> 2 instances  time unknown
           why: the next instance in the global order: ordinal 1
           quorum: 1 of 2 ready, 2 needed; budget: 0 unavailable + 1 that may go down, of 1
        3. member2  deploy  web-100  time unknown
           why: the next instance in the global order: ordinal 100
           quorum: 2 of 3 ready, 2 needed; budget: 0 unavailable + 0 that may go down, of 1
        4. member2  deploy  web-101  1 -> 2 instances  time unknown
           why: the next instance in the global order: ordinal 101
           quorum: 3 of 4 ready, 3 needed; budget: 0 unavailable + 1 that may go down, of 1
        5. member3  deploy  web-200  time unknown
           why: the next instance in the global order: ordinal 200
           quorum: 4 of 5 ready, 3 needed; budget: 0 unavailable + 0 that may go down, of 1

      5 steps, 11 writes. Time: unknown for 5 steps (no history).

      member1, member2, member3: now -> then
        v1/ConfigMap default/web-topology: new
        v1/Service default/web: new
        apps/v1/StatefulSet default/web: new

      It would complete, if every cluster carries out its grants.
      It would stop and report the reason if
        - a joining instance does not become ready: no other joins before it is
        - a cluster becomes unreachable: it waits 5m, then continues without it (failover Wait)
      "
    `);
  });

  it("names impossible settings, and exits with 2", async () => {
    const batches = exampleObjects("nginx:1", { identity: { mode: "Dense" } });
    const { code, out } = await offline(yaml(batches));
    expect(code).toBe(2);
    expect(out).toMatch(
      /error: spec\.identity\.mode: Dense needs an operator on the contract.* Use Blocks for a StatefulSet/,
    );
    expect(out).toContain("It would be blocked");
  });

  it("warns without blocking", async () => {
    const topology = {
      clusters: [
        { name: "a", replicas: 1 },
        { name: "b", replicas: 1 },
      ],
    };
    const { code, out } = await offline(yaml(exampleObjects("nginx:1", { topology })));
    expect(code).toBe(0);
    expect(out).toMatch(/warning: spec\.replicas: with 2 instances the majority is all of them/);
  });

  it.each([
    [
      "no template",
      yaml(exampleObjects().slice(0, 1)),
      "names StatefulSet default/web, which is not in the files; add it with -f",
    ],
    ["no CrossClusterStatefulset", yaml(exampleObjects().slice(1)), "the files hold no CrossClusterStatefulset"],
    [
      "two",
      yaml([...exampleObjects(), { ...exampleObjects()[0], metadata: { name: "other", namespace: "default" } }]),
      "name one: web, other",
    ],
    [
      "no topology",
      yaml(exampleObjects("x", { topology: undefined })),
      "has no clusters in spec.topology, and --offline asks no engine",
    ],
    ["nothing", "", "say what to look at"],
    ["no YAML", "a: [", "f.yaml"],
  ])("%s is an error with a remedy", async (_, text, said) => {
    const { code, out, err } = await offline(text);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(said);
  });

  it("one of several is chosen by name, and labels select too", async () => {
    const [statefulset, template] = exampleObjects();
    const byLabel = {
      ...statefulset,
      metadata: { name: "chosen" },
      spec: {
        ...(statefulset?.spec as object),
        resourceSelector: {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          labelSelector: { matchLabels: { tier: "db" } },
        },
      },
    };
    const labelled = { ...template, metadata: { name: "web", labels: { tier: "db" } } };
    const files = { "f.yaml": yaml([statefulset, byLabel, labelled]) };
    const { code, out } = await runAlone(["plan", "chosen", "-f", "f.yaml", "--offline"], { files });
    expect(code).toBe(0);
    expect(out).toContain("default/chosen  revision web-");
  });
});

describe("secrets", () => {
  const secret = (password: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s", namespace: "default" },
    data: { password, user: "YQ==" },
  });
  const template = exampleTemplate("nginx:1");
  const withSecret = JSON.parse(
    JSON.stringify(template).replace('"image"', '"envFrom":[{"secretRef":{"name":"s"}}],"image"'),
  );

  it("belong to the revision and are never shown", async () => {
    const text = yaml([...exampleObjects().slice(0, 1), withSecret, secret("aHVudGVyMg==")]);
    for (const args of [["plan"], ["plan", "-o", "json"], ["render"], ["render", "-o", "json"]]) {
      const { out, err, code } = await runAlone([...args, "-f", "f.yaml", "--offline"], { files: { "f.yaml": text } });
      expect(code).toBe(0);
      expect(out + err).not.toContain("aHVudGVyMg");
      expect(out).toMatch(/Secret/);
    }
  });

  it("differ visibly without their values", () => {
    const manifest = (password: string) => [
      { role: "dependency" as const, key: "v1/Secret default/s", object: secret(password) },
    ];
    const [diff] = manifestDiff(manifest("b2xk"), manifest("bmV3"));
    expect(diff?.lines).toEqual([
      "  apiVersion: v1",
      "  data:",
      "-   password: <hidden>",
      "+   password: <hidden, changed>",
      "    user: <hidden>",
      "  kind: Secret",
      "  metadata:",
    ]);
    expect(manifestDiff(manifest("b2xk"), manifest("b2xk"))).toEqual([]);
  });
});

it("render to JSON gives each cluster's objects, the workload last", async () => {
  const files = { "f.yaml": yaml(exampleObjects()) };
  const { out } = await runAlone(["render", "-f", "f.yaml", "--offline", "-o", "json"], { files });
  const rendered: { cluster: string; objects: { kind: string }[] }[] = JSON.parse(out);
  expect(rendered.map(({ cluster }) => cluster)).toEqual(["member1", "member2", "member3"]);
  for (const { objects } of rendered) expect(objects.at(-1)?.kind).toBe("StatefulSet");
});
