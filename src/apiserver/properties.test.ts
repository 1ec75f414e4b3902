import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../runtime/index.ts";
import { TestServer } from "./testing/client.ts";
import { CONFIG_MAPS, CRDS, configMap, WIDGETS, widget, widgetCrd } from "./testing/objects.ts";
import type { KubeObject } from "./types.ts";

const names = fc.constantFrom("a", "b", "c");
const labels = fc.constantFrom<string | null>("x", "y", null);
const value = fc.constantFrom("1", "2", "3");

type Step =
  | { do: "create"; name: string; value: string; label: string | null }
  | { do: "update"; name: string; value: string; stale: boolean }
  | { do: "label"; name: string; label: string | null }
  | { do: "delete"; name: string };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant("create" as const), name: names, value, label: labels }),
    fc.record({ do: fc.constant("update" as const), name: names, value, stale: fc.boolean() }),
    fc.record({ do: fc.constant("label" as const), name: names, label: labels }),
    fc.record({ do: fc.constant("delete" as const), name: names }),
  ),
  { maxLength: 25 },
);

interface Modelled {
  value: string;
  label: string | null;
}

/** Does one step on the server and on the model; both must agree whether it succeeds. */
async function take(step: Step, server: TestServer, model: Map<string, Modelled>): Promise<void> {
  const known = model.get(step.name);
  const path = `${CONFIG_MAPS}/${step.name}`;
  const merge = { "content-type": "application/merge-patch+json" };
  switch (step.do) {
    case "create": {
      const metadata = step.label === null ? {} : { labels: { l: step.label } };
      const answer = await server.ask("POST", CONFIG_MAPS, configMap(step.name, { v: step.value }, metadata));
      expect(answer.status).toBe(known ? 409 : 201);
      if (!known) model.set(step.name, { value: step.value, label: step.label });
      return;
    }
    case "update": {
      const live = (await server.get(path)).body as KubeObject;
      if (!known) return expect(live.code).toBe(404);
      const metadata = { ...live.metadata, ...(step.stale && { resourceVersion: "1" }) };
      const answer = await server.ask("PUT", path, { ...live, metadata, data: { v: step.value } });
      expect(answer.status).toBe(step.stale ? 409 : 200);
      if (!step.stale) known.value = step.value;
      return;
    }
    case "label": {
      const answer = await server.ask("PATCH", path, { metadata: { labels: { l: step.label } } }, merge);
      expect(answer.status).toBe(known ? 200 : 404);
      if (known) known.label = step.label;
      return;
    }
    case "delete":
      expect((await server.ask("DELETE", path)).status).toBe(known ? 200 : 404);
      model.delete(step.name);
  }
}

const stateOf = (items: KubeObject[]) =>
  items.map(({ metadata, data }) => [metadata.name, (data as JsonObject).v, metadata.labels?.l ?? null]);

/** What a client has after following a watch. */
function replay(texts: readonly string[], until: number): KubeObject[] {
  const known = new Map<string, KubeObject>();
  for (const line of texts.join("").split("\n").filter(Boolean)) {
    const { type, object } = JSON.parse(line) as { type: string; object: KubeObject };
    if (Number(object.metadata.resourceVersion) > until) break;
    if (type === "DELETED") known.delete(object.metadata.name);
    else known.set(object.metadata.name, object);
  }
  return [...known.values()].sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1));
}

async function follow(server: TestServer, query: string): Promise<{ texts: string[]; stop: () => Promise<void> }> {
  const texts: string[] = [];
  const stream = await server.server.stream({ method: "GET", path: `${CONFIG_MAPS}?watch=1&${query}`, headers: {} });
  const reading = (async () => {
    for await (const chunk of stream.chunks) texts.push(chunk);
  })();
  return {
    texts,
    stop: async () => {
      server.server.closeWatches();
      await reading;
    },
  };
}

describe("for any sequence of client requests", () => {
  it("the objects are those of a simple model", () =>
    fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const server = new TestServer();
        const model = new Map<string, Modelled>();
        for (const step of sequence) await take(step, server, model);
        const expected = [...model].sort().map(([name, each]) => [name, each.value, each.label]);
        expect(stateOf(await server.items(CONFIG_MAPS))).toEqual(expected);
      }),
      { numRuns: 60 },
    ));

  it("replaying a watch, with or without a selector, equals the list at every version", () =>
    fc.assert(
      fc.asyncProperty(
        steps,
        fc.constantFrom("", "labelSelector=l%3Dx", "labelSelector=!l"),
        async (sequence, query) => {
          const server = new TestServer();
          const start = server.server.resourceVersion;
          const live = await follow(server, `resourceVersion=${start}&${query}`);
          const model = new Map<string, Modelled>();
          const lists = new Map<number, KubeObject[]>();
          for (const step of sequence) {
            await take(step, server, model);
            lists.set(server.server.resourceVersion, await server.items(`${CONFIG_MAPS}?${query}`));
          }
          const late = await follow(server, `resourceVersion=${start}&${query}`);
          await new Promise((resolve) => setImmediate(resolve));
          await live.stop();
          await late.stop();
          expect(late.texts.join("")).toBe(live.texts.join(""));
          for (const [version, items] of lists) {
            expect(replay(live.texts, version)).toEqual(items);
            const exact = `resourceVersion=${version}&resourceVersionMatch=Exact`;
            expect(await server.items(`${CONFIG_MAPS}?${exact}&${query}`)).toEqual(items);
          }
        },
      ),
      { numRuns: 60 },
    ));

  it("pages of any size give the same list", () =>
    fc.assert(
      fc.asyncProperty(steps, steps, fc.integer({ min: 1, max: 4 }), async (before, between, limit) => {
        const server = new TestServer();
        const model = new Map<string, Modelled>();
        for (const step of before) await take(step, server, model);
        const whole = await server.items(CONFIG_MAPS);
        const paged: KubeObject[] = [];
        let token = "";
        const pending = [...between];
        do {
          const page = await server.get(`${CONFIG_MAPS}?limit=${limit}&continue=${token}`);
          paged.push(...((page.body.items ?? []) as KubeObject[]));
          token = String((page.body.metadata as JsonObject).continue ?? "");
          for (const step of pending.splice(0, 5)) await take(step, server, model);
        } while (token !== "");
        expect(paged).toEqual(whole);
      }),
      { numRuns: 60 },
    ));

  it("a restored snapshot gives the same answers as the original", () =>
    fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const server = new TestServer();
        const model = new Map<string, Modelled>();
        for (const step of sequence) await take(step, server, model);
        const restored = new TestServer({ storage: JSON.parse(JSON.stringify(server.server.snapshot())) });
        expect((await restored.get(CONFIG_MAPS)).text).toBe((await server.get(CONFIG_MAPS)).text);
      }),
      { numRuns: 30 },
    ));
});

describe("for any applied configurations", () => {
  const part = fc.record({ name: names, weight: fc.integer({ min: 0, max: 2 }) }, { requiredKeys: ["name"] });
  const spec = fc.record(
    {
      size: fc.integer({ min: 0, max: 3 }),
      color: fc.constantFrom("red", "blue"),
      parts: fc.uniqueArray(part, { selector: (each) => each.name, maxLength: 3 }),
      tags: fc.uniqueArray(fc.constantFrom("t", "u", "v"), { maxLength: 3 }),
      labels: fc.dictionary(fc.constantFrom("k", "constructor"), value, { maxKeys: 2 }),
    },
    { requiredKeys: [] },
  );
  const said = fc.array(fc.record({ manager: fc.constantFrom("one", "two"), spec }), { minLength: 1, maxLength: 6 });

  const apply = (server: TestServer, manager: string, each: JsonObject) =>
    server.apply(`${WIDGETS}/w`, manager, widget("w", each), "&force=true");

  it("applying the same again changes nothing", () =>
    fc.assert(
      fc.asyncProperty(said, async (sequence) => {
        const server = new TestServer({ trackUpdates: false });
        await server.create(CRDS, widgetCrd());
        for (const each of sequence) {
          const first = await apply(server, each.manager, each.spec);
          expect(first.status).toBeLessThan(300);
          server.clock.advance(1000);
          const again = await apply(server, each.manager, each.spec);
          expect(again.text).toBe(first.text);
        }
      }),
      { numRuns: 60 },
    ));

  it("applied fields are present, and fields without an owner are removed", () =>
    fc.assert(
      fc.asyncProperty(said, async (sequence) => {
        const server = new TestServer({ trackUpdates: false });
        await server.create(CRDS, widgetCrd());
        for (const each of sequence) {
          const { body } = await apply(server, each.manager, each.spec);
          expect(body.spec).toMatchObject(subset(each.spec));
        }
        for (const manager of ["one", "two"]) await apply(server, manager, {});
        const left = await server.read(`${WIDGETS}/w`);
        expect(left.spec).toEqual({ size: 1 });
      }),
      { numRuns: 60 },
    ));
});

/** Lists also contain other managers' items, so only a manager's own items can be checked. */
function subset(spec: JsonObject): JsonObject {
  const { parts, tags, ...rest } = spec;
  return {
    ...rest,
    ...(Array.isArray(parts) && { parts: expect.arrayContaining(parts.map((part) => expect.objectContaining(part))) }),
    ...(Array.isArray(tags) && { tags: expect.arrayContaining(tags) }),
  };
}
