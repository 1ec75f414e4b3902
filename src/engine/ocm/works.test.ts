import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { APP, LINEAGE, orderFor, reported, SENT_AT_MS, strategyOf, written } from "./testing/agent.ts";
import {
  askingPatch,
  isOwner,
  keepsObject,
  outlineOf,
  readWork,
  removing,
  reservationFor,
  sentMark,
  versionOf,
  workFor,
  writtenSpec,
} from "./works.ts";

const apply = (force: boolean) => ({
  type: "ServerSideApply",
  serverSideApply: { fieldManager: `work-agent-lockstep-${LINEAGE}`, force },
});
const reservation = (takeOver?: boolean) => {
  const claim = { cluster: "east", term: 1, ...(takeOver !== undefined && { takeOver }) };
  const writing = { plural: "statefulsets", lineage: LINEAGE, nowMs: SENT_AT_MS, pods: [] };
  const work = reservationFor(APP, APP.template, claim, writing);
  return { ...work, metadata: { ...work.metadata, uid: "u1", generation: 1 } };
};

describe("a ManifestWork of ours", () => {
  it("keeps its object from the first write on", () => {
    expect(written(orderFor(1)).spec).toMatchObject({ deleteOption: { propagationPolicy: "Orphan" } });
    expect(keepsObject(written(orderFor(1)))).toBe(true);
  });

  it("does not force its first apply, and forces later ones once the object is known to be its own", () => {
    const first = written(orderFor(1));
    expect(strategyOf(first)).toEqual(apply(false));
    expect(strategyOf(written(orderFor(2), first))).toEqual(apply(false));
    expect(strategyOf(written(orderFor(2), reported(first)))).toEqual(apply(true));
    // Once forced, always: the next report may be on its way.
    const forced = written(orderFor(2), reported(first));
    expect(strategyOf(written(orderFor(3), forced))).toEqual(apply(true));
  });

  it("has the fields of what its owner delivered before, whichever ManifestWork of the owner's delivered it", () => {
    const owned = (lineage: string, previous?: KubeObject) => {
      const writing = { plural: "statefulsets", lineage, nowMs: SENT_AT_MS, pods: [] };
      return strategyOf(workFor({ ...APP, uid: "u-1" }, orderFor(1), previous, writing));
    };
    const manager = { serverSideApply: { fieldManager: "work-agent-lockstep-u-1" } };
    expect(owned("aaaa1111")).toMatchObject(manager);
    expect(owned("bbbb2222")).toMatchObject(manager);
    // A ManifestWork of an earlier version keeps its field manager: fields that are dropped would otherwise stay.
    expect(owned(LINEAGE, written(orderFor(1)))).toEqual(apply(false));
  });

  it("does not own an object after a refusal, nor after a report on its reservation", () => {
    const refused = reported(written(orderFor(1)), { applied: false, mark: "none" });
    expect(isOwner(refused)).toBe(false);
    expect(strategyOf(written(orderFor(2), refused))).toEqual(apply(false));
    const reserved = reported(reservation());
    expect(isOwner(reserved)).toBe(false);
    expect(strategyOf(written(orderFor(1), reserved))).toEqual(apply(false));
  });

  it("replaces the whole spec of what it has taken over, from then on", () => {
    const taken = written(orderFor(1, { takeOver: true }));
    expect(strategyOf(taken)).toEqual({ type: "Update" });
    expect(strategyOf(written(orderFor(2), taken))).toEqual({ type: "Update" });
    expect(strategyOf(written(orderFor(2), reservation(true)))).toEqual({ type: "Update" });
  });

  it("only observes a reserved object, and delivers nothing yet", () => {
    expect(strategyOf(reservation())).toEqual({ type: "ReadOnly" });
    expect(readWork(reservation())).toMatchObject({ cluster: "east", ref: APP.template, manifest: {}, term: 1 });
    expect(readWork(reported(reservation()))?.delivery.state).toBe("unknown");
  });

  it("has another version after a write of ours, and the same after a report or a request", () => {
    const work = written(orderFor(1));
    expect(versionOf(reported(work))).toBe(versionOf(work));
    expect(versionOf({ ...work, metadata: { ...work.metadata, generation: 9 } })).toBe(versionOf(work));
    expect(versionOf(written(orderFor(2), work))).not.toBe(versionOf(work));
    expect(versionOf(written(orderFor(1, { term: 2 }), work))).not.toBe(versionOf(work));
  });

  it("is delivered or refused only by a report on exactly this generation", () => {
    const work = written(orderFor(1));
    expect(readWork(reported(work))?.delivery).toEqual({ state: "delivered", message: "" });
    expect(readWork(reported(work, { applied: false, message: "no" }))?.delivery).toEqual({
      state: "failed",
      message: "no",
    });
    expect(readWork(reported(work, { generation: 0 }))?.delivery.state).toBe("unknown");
  });

  it("requests a sign of life for the version and term that were read, and repeats its mark with another time", () => {
    const work = written(orderFor(1));
    expect(askingPatch(work, 5)).toEqual({
      type: "json",
      operations: [
        { op: "test", path: "/metadata/annotations/lockstep.karmada.io~1version", value: "1" },
        { op: "test", path: "/metadata/annotations/lockstep.karmada.io~1term", value: "1" },
        {
          op: "replace",
          path: "/spec/workload/manifests/0/metadata/annotations/lockstep.karmada.io~1write",
          value: `${LINEAGE}.1.5`,
        },
      ],
    });
  });

  it("removes its object without writing or creating it", () => {
    const next = removing(outlineOf(written(orderFor(1))), "statefulsets");
    expect(next && strategyOf(next)).toEqual({ type: "CreateOnly" });
    expect(next?.spec).toMatchObject({ deleteOption: { propagationPolicy: "Foreground" } });
    expect(JSON.stringify(next?.spec)).not.toContain('"replicas":1');
    expect(next && keepsObject(next)).toBe(false);
  });

  it("has the same values in its outline, as far as they are read", () => {
    const work = reported(written(orderFor(3)));
    const outline = outlineOf(work);
    expect(versionOf(outline)).toBe(versionOf(work));
    expect(sentMark(outline)).toEqual({ lineage: LINEAGE, version: 1, sentAtMs: SENT_AT_MS });
    expect(isOwner(outline)).toBe(isOwner(work));
    expect(writtenSpec(outline)).toEqual({ replicas: 3 });
  });
});
