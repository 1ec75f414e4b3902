import { describe, expect, it } from "vitest";
import { kindsOf, readWorkload, STATEFULSET_WORKLOAD, workloadText } from "./workloads.ts";

describe("a workload's name", () => {
  it.each([
    ["xlineclusters.apps.my.io", ["apps.my.io/xlineclusters", "apps.my.io/xlinecluster"]],
    ["databases.db.io", ["db.io/databases", "db.io/database", "db.io/databas"]],
    ["proxies.db.io", ["db.io/proxies", "db.io/proxie", "db.io/proxy"]],
    ["people.my.io=Person", ["my.io/person"]],
  ])("%s includes every kind that its plural can belong to", (text, kinds) => {
    const workload = readWorkload(text);
    expect(workload && kindsOf(workload)).toEqual(kinds);
    expect(workload && workloadText(workload)).toBe(text);
  });

  it.each(["pods", "statefulsets.", ".apps", "a b.c", "x.y=", "x.y=a b", "A.b"])("cannot be %j", (text) => {
    expect(readWorkload(text)).toBeUndefined();
  });

  it("for StatefulSets includes only that kind", () => {
    expect(kindsOf(STATEFULSET_WORKLOAD)).toEqual(["apps/statefulset"]);
  });
});
