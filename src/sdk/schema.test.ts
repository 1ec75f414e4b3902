/** The published schemas and the SDK accept the same grants and reports: an operator in any language may trust either. */
import fc from "fast-check";
import { Compile } from "typebox/schema";
import { describe, expect, it } from "vitest";
import { ANNOTATIONS, GRANT_SCHEMA, parseMemberReport, REPORT_SCHEMA, TOPOLOGY_SCHEMA } from "../contract/index.ts";
import { readGrant } from "./index.ts";

const RUNS = { numRuns: 3_000, seed: 23 };
/** Mostly what is right, so that whole objects often are; absent is a value, too. */
const mostly = <T>(right: fc.Arbitrary<T>, ...wrong: unknown[]) =>
  fc.oneof(
    { weight: 30, arbitrary: right as fc.Arbitrary<unknown> },
    { weight: 1, arbitrary: fc.constantFrom(...wrong) },
  );
const count = mostly(fc.nat(9), undefined, -1, 1.5, "1", null, [], 2 ** 60);
const text = mostly(fc.constantFrom("a", "b"), undefined, 1, null, {});

function withoutUndefined(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined));
}

describe("the contract's schemas", () => {
  const [grants, topologies, reports] = [GRANT_SCHEMA, TOPOLOGY_SCHEMA, REPORT_SCHEMA].map((schema) => Compile(schema));

  it("accept exactly the reports that Lockstep reads, but for a list of members that counts as absent", () => {
    const seen = { valid: 0, invalid: 0 };
    const report = fc.record({
      epoch: count,
      revision: text,
      phase: mostly(fc.constantFrom("Working", "Done", "Failed"), undefined, "Ready", 1),
      desired: count,
      updated: count,
      ready: count,
      leader: fc.constantFrom(undefined, "", "x-0", 1),
      message: fc.constantFrom(undefined, "m", {}),
    });
    fc.assert(
      fc.property(report, (each) => {
        const value = withoutUndefined(each);
        const isRead = parseMemberReport(value) !== undefined;
        seen[isRead ? "valid" : "invalid"]++;
        expect(reports?.Check(value), JSON.stringify(value)).toBe(isRead);
      }),
      RUNS,
    );
    expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(200);
    const members = { epoch: 1, revision: "r", phase: "Done", desired: 1, updated: 1, ready: 1, members: ["a", 1] };
    expect(reports?.Check(members)).toBe(false);
    expect(parseMemberReport(members)).not.toHaveProperty("members");
  });

  it("accept exactly the grants that the SDK reads, but for lists of different lengths, which no schema can refuse", () => {
    const seen = { valid: 0, invalid: 0 };
    const cluster = fc
      .record({
        size: fc.nat(2),
        cluster: text,
        replicas: count,
        ordinal: count,
        name: text,
        state: mostly(fc.constantFrom("member", "joining", "leaving"), "gone", 1),
        drop: mostly(fc.constant(""), "ordinals", "instances", "addresses", "states"),
      })
      .map(({ size, cluster: name, replicas, ordinal, name: instance, state, drop }) => {
        const list = (value: unknown) => Array.from({ length: size }, () => value);
        const lists = { ordinals: list(ordinal), instances: list(instance), addresses: list("h"), states: list(state) };
        const kept = Object.entries(lists).filter(([key]) => key !== drop);
        return withoutUndefined({ cluster: name, replicas, ...Object.fromEntries(kept) });
      });
    const topology = mostly(fc.array(cluster, { maxLength: 2 }), {}, null, "x");
    const number = mostly(
      fc.nat(9).map((each) => String(each)),
      undefined,
      "",
      "-1",
      "x",
      "1.0",
      "1".repeat(16),
    );
    const name = mostly(fc.constantFrom("a", "b"), undefined, "");
    const grant = fc.record({
      cluster: name,
      epoch: number,
      revision: name,
      processor: mostly(fc.constantFrom("true", "false"), undefined, "", "yes"),
      topologyVersion: number,
      partition: fc.constantFrom(undefined, "0", "3", "x"),
      transferLeaderTo: fc.constantFrom(undefined, "", "x-1"),
      initialClusterState: fc.constantFrom(undefined, "new", "existing", "old"),
      topology,
    });
    fc.assert(
      fc.property(grant, ({ topology: value, ...rest }) => {
        const fields: Record<string, unknown> = { ...withoutUndefined(rest), topology: JSON.stringify(value) };
        const annotations = Object.fromEntries(
          Object.entries(fields).map(([field, each]) => [ANNOTATIONS[field as keyof typeof ANNOTATIONS], String(each)]),
        );
        // Without both, the object is not Lockstep's.
        if (rest.cluster === undefined && rest.epoch === undefined) return;
        const isRead = readGrant({ metadata: { annotations } }).state === "granted";
        seen[isRead ? "valid" : "invalid"]++;
        const isValid =
          grants?.Check(annotations) === true && topologies?.Check(JSON.parse(JSON.stringify(value))) === true;
        expect(isValid, JSON.stringify(annotations)).toBe(isRead);
      }),
      RUNS,
    );
    expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(200);
  });

  it("leave it to the SDK to refuse lists of different lengths", () => {
    const uneven = [
      {
        cluster: "a",
        replicas: 2,
        ordinals: [0, 1],
        instances: ["x-0", "x-1"],
        addresses: ["h"],
        states: ["member", "member"],
      },
    ];
    const annotations = {
      [ANNOTATIONS.cluster]: "a",
      [ANNOTATIONS.epoch]: "1",
      [ANNOTATIONS.revision]: "r",
      [ANNOTATIONS.processor]: "true",
      [ANNOTATIONS.topologyVersion]: "1",
      [ANNOTATIONS.topology]: JSON.stringify(uneven),
    };
    expect(topologies?.Check(uneven)).toBe(true);
    expect(readGrant({ metadata: { annotations } })).toMatchObject({ state: "malformed" });
  });
});
