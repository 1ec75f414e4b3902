import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { version } from "../../../package.json";
import { Bench } from "../check/testing/bench.ts";
import { testIntent } from "../check/testing/intent.ts";
import { parseLedger } from "./ledger.ts";

/**
 * A ledger of each released version, written in the middle of an update. They are never edited: a version that cannot
 * read one of them cannot be upgraded to.
 */
const FOLDER = new URL("./released/", import.meta.url);
const current = new URL(`./ledger-${version}.json`, FOLDER);

/** Five instances in mid-update: one cluster has the turn. */
function inFlight(): Bench {
  const bench = new Bench(testIntent({ a: 2, b: 2, c: 1 }));
  bench.run();
  bench.intent.revision = { kind: "ready", id: "B" };
  bench.plan();
  bench.deliver();
  return bench;
}

// Written once for each version, when it is prepared: UPDATE=1.
if (process.env.UPDATE && !existsSync(current))
  writeFileSync(current, `${JSON.stringify(inFlight().ledger, null, 2)}\n`);

it("the ledger of this version is among them", () => {
  expect(existsSync(current), `UPDATE=1 npx vitest run ${import.meta.filename}`).toBe(true);
});

describe.each(readdirSync(FOLDER))("a rollout in flight with %s", (file) => {
  const text = readFileSync(new URL(file, FOLDER), "utf8");

  it("is read whole", () => {
    expect(JSON.parse(JSON.stringify(parseLedger(JSON.parse(text))))).toEqual(JSON.parse(text));
  });

  it("continues as if nothing had been upgraded, with the same steps and the same end", () => {
    const upgraded = inFlight();
    upgraded.ledger = parseLedger(JSON.parse(text));
    const before = Object.fromEntries(
      Object.entries(upgraded.ledger.clusters).map(([name, { grant }]) => [name, grant]),
    );
    expect(upgraded.plan().steps).toEqual([]);
    for (const grant of upgraded.last?.grants ?? []) expect(grant).toEqual(before[grant.cluster]);
    const untouched = inFlight();
    for (const bench of [upgraded, untouched]) bench.settle();
    const steps = upgraded.run();
    expect(steps).toEqual(untouched.run());
    expect(steps.filter(({ kind }) => kind === "update").map(({ cluster }) => cluster)).toEqual(["b", "a"]);
    expect(upgraded.last?.figures).toMatchObject({ ready: 5, updated: 5, currentRevision: "B" });
  });
});
