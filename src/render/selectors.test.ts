import { describe, expect, it } from "vitest";
import { clusterMatches, MATCH, resourceMatchRank } from "./selectors.ts";
import { cluster, STATEFULSET, yaml } from "./testing/fixtures.ts";

const east = cluster("member1", { labels: { env: "prod" }, provider: "acme", region: "east", zones: ["e1", "e2"] });
const bare = cluster("member2");

describe("the clusters that a rule selects", () => {
  it.each([
    ["{}", true, true],
    ["{clusterNames: [member1]}", true, false],
    ["{exclude: [member1]}", false, true],
    ["{clusterNames: [member1], exclude: [member1]}", false, false],
    ["{labelSelector: {matchLabels: {env: prod}}}", true, false],
    ["{labelSelector: {matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}}", false, true],
    ["{labelSelector: {matchExpressions: [{key: env, operator: Exists}]}}", true, false],
    ["{labelSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}", false, true],
    ["{labelSelector: {matchExpressions: [{key: env, operator: Nonsense}]}}", false, false],
    ["{fieldSelector: {matchExpressions: [{key: provider, operator: In, values: [acme]}]}}", true, false],
    ["{fieldSelector: {matchExpressions: [{key: region, operator: NotIn, values: [east]}]}}", false, true],
    ["{fieldSelector: {matchExpressions: [{key: zone, operator: In, values: [e2, w1]}]}}", true, false],
    ["{fieldSelector: {matchExpressions: [{key: zone, operator: NotIn, values: [e2]}]}}", false, true],
    ["{fieldSelector: {matchExpressions: [{key: planet, operator: NotIn, values: [mars]}]}}", false, false],
    ["{clusterNames: [member1], labelSelector: {matchLabels: {env: test}}}", false, false],
  ])("are, with %s, the labelled one: %s, the bare one: %s", (affinity, forEast, forBare) => {
    expect(clusterMatches(yaml(affinity), east)).toBe(forEast);
    expect(clusterMatches(yaml(affinity), bare)).toBe(forBare);
  });
});

describe("how specifically a policy selects a resource", () => {
  const rank = (selectors: string) => resourceMatchRank(yaml(`{s: ${selectors}}`).s, yaml(STATEFULSET));
  const sts = "apiVersion: apps/v1, kind: StatefulSet";

  it.each([
    ["null", MATCH.all],
    ["[]", MATCH.all],
    [`[{${sts}}]`, MATCH.all],
    [`[{${sts}, labelSelector: {matchLabels: {app: db}}}]`, MATCH.label],
    [`[{${sts}, labelSelector: {}}]`, MATCH.label],
    [`[{${sts}, name: db}]`, MATCH.name],
    [`[{${sts}, name: db, labelSelector: {matchLabels: {app: other}}}]`, MATCH.name],
    [`[{${sts}, name: other, labelSelector: {matchLabels: {app: db}}}]`, MATCH.none],
    [`[{${sts}, namespace: elsewhere}]`, MATCH.none],
    ["[{apiVersion: apps/v1, kind: Deployment}]", MATCH.none],
    ["[{apiVersion: apps/v1beta1, kind: StatefulSet}]", MATCH.none],
    [`[{${sts}}, {${sts}, name: db}]`, MATCH.name],
  ])("is, with %s, rank %s", (selectors, expected) => {
    expect(rank(selectors)).toBe(expected);
  });
});
