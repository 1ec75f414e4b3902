import { describe, expect, it } from "vitest";
import { ANNOTATIONS } from "../../../contract/index.ts";
import type { Dispatched, EngineApp } from "../../../engine/index.ts";
import { type Action, emptyLedger, type Grant } from "../../../plan/index.ts";
import { type ActContext, act, grantsOutstanding } from "./act.ts";

const APP: EngineApp = {
  namespace: "default",
  name: "web",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" },
};

function one(
  kind: "StatefulSet" | "ConfigMap",
  state: Partial<Pick<Dispatched, "deleting" | "keeps">> = {},
): Dispatched {
  return {
    cluster: "member2",
    ref: { apiVersion: "v1", kind, namespace: "default", name: "web", ...(kind === "StatefulSet" && APP.template) },
    manifest: {},
    notes: {},
    term: 1,
    version: "1",
    uid: kind,
    deleting: false,
    keeps: true,
    delivery: { state: "unknown", message: "" },
    ...state,
  };
}

describe("a grant", () => {
  const grant = { cluster: "member2", epoch: 3 } as Grant;
  const dispatchedAt = (epoch: number): Dispatched => ({
    ...one("StatefulSet"),
    notes: { grant: "{}" },
    manifest: { metadata: { annotations: { [ANNOTATIONS.epoch]: String(epoch) } } },
  });
  const refs = [one("ConfigMap").ref, APP.template];
  const isOutstanding = (dispatched: readonly Dispatched[], known?: number) => {
    const dispatchedRefs = new Map(known === undefined ? [] : [["member2", { epoch: known, refs }]]);
    return grantsOutstanding([grant], dispatched, APP, dispatchedRefs).length > 0;
  };

  it("is outstanding until its workload is dispatched", () => {
    expect(isOutstanding([])).toBe(true);
    expect(isOutstanding([dispatchedAt(2), one("ConfigMap")], 2)).toBe(true);
    expect(isOutstanding([dispatchedAt(3), one("ConfigMap")], 3)).toBe(false);
  });

  it("is outstanding again when what the workload needs is not dispatched any more, as far as that is known", () => {
    expect(isOutstanding([dispatchedAt(3)], 3)).toBe(true);
    expect(isOutstanding([dispatchedAt(3), { ...one("ConfigMap"), cluster: "member1" }], 3)).toBe(true);
    expect(isOutstanding([dispatchedAt(3)], 2)).toBe(false);
    expect(isOutstanding([dispatchedAt(3)])).toBe(false);
  });
});

describe("what is deleted in a member for good", () => {
  const pod = { name: "web-1", uid: "u", version: "7" };
  const deletePods: Action = { kind: "deletePods", cluster: "member2", pods: [pod, { ...pod, name: "web-0" }] };

  /** What a process does, in order; `leads` turns false after so many confirmations. */
  async function carriedOut(action: Action, leads = Infinity) {
    const done: string[] = [];
    const confirm = async () => {
      done.push("confirm");
      if (leads-- <= 0) throw new Error("another leader has taken over");
    };
    const member = {
      deletePod: async (_namespace: string, { name }: { name: string }) => done.push(`delete ${name}`),
      deleteVolumes: async (_namespace: string, _claims: unknown, check: () => Promise<void>) => {
        await check();
        done.push("delete claims");
      },
    };
    const content = { template: { apiVersion: "apps/v1", kind: "StatefulSet" }, dependencies: [], overrides: [] };
    const context = {
      engine: { dispatched: () => [], member: () => member },
      app: APP,
      owner: APP,
      ledger: emptyLedger(),
      revisions: { list: () => [{ id: "web-1" }], content: async () => content },
      confirm,
    } as unknown as ActContext;
    const { failures } = await act(context, [], [action], new Map(), new Map());
    return { done, failures: failures.map(({ message }) => message) };
  }

  it("is deleted right after it was confirmed that this process leads, each pod", async () => {
    expect(await carriedOut(deletePods)).toEqual({
      done: ["confirm", "delete web-1", "confirm", "delete web-0"],
      failures: [],
    });
    expect(await carriedOut({ kind: "remove", cluster: "member2", volumes: "Delete" })).toEqual({
      done: ["confirm", "delete claims"],
      failures: [],
    });
  });

  it("is left alone by a process that does not lead any more", async () => {
    expect(await carriedOut(deletePods, 1)).toEqual({
      done: ["confirm", "delete web-1", "confirm"],
      failures: ["another leader has taken over"],
    });
    expect((await carriedOut({ kind: "remove", cluster: "member2", volumes: "Delete" }, 0)).done).toEqual(["confirm"]);
  });

  it("is left alone where it was seen without a uid or a version to name", async () => {
    const { done, failures } = await carriedOut({ kind: "deletePods", cluster: "member2", pods: [{ name: "web-1" }] });
    expect(done).not.toContain("delete web-1");
    expect(failures).toEqual([expect.stringContaining("web-1")]);
  });
});
