import { describe, expect, it } from "vitest";
import type { JsonObject } from "../runtime/index.ts";
import { type RevisionContent, snapshotRevision } from "./revision.ts";
import { changedBeside, templateMarks, withRestartMarks } from "./template-marks.ts";

interface Edit {
  readonly image?: string;
  readonly replicas?: number;
  readonly labels?: JsonObject;
  readonly podAnnotations?: JsonObject;
  readonly config?: string;
  readonly restart?: string;
}

function revision({ image = "web:1", replicas = 3, labels = {}, podAnnotations, config, restart }: Edit = {}) {
  const metadata = { labels: { app: "web" }, ...(podAnnotations && { annotations: podAnnotations }) };
  const dependency = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", namespace: "n" } };
  return snapshotRevision({
    template: {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "web", namespace: "n", labels },
      spec: { replicas, template: { metadata, spec: { containers: [{ name: "web", image }] } } },
    },
    dependencies: config === undefined ? [] : [{ ...dependency, data: { key: config } }],
    ...(restart !== undefined && { restart }),
  });
}

const KUBECTL = "kubectl.kubernetes.io/restartedAt";
const digestOf = (content: RevisionContent) => templateMarks(content).digest;

describe("[F6] the template's own content", () => {
  it("does not depend on its count, its labels, its dependencies or its restarts", () => {
    const same = [
      revision({ replicas: 7 }),
      revision({ labels: { team: "a" } }),
      revision({ config: "x" }),
      revision({ restart: "2025-01-01T00:00:00Z" }),
      revision({ podAnnotations: { [KUBECTL]: "2025-01-01T00:00:00Z" } }),
    ];
    for (const content of same) expect(digestOf(content)).toBe(digestOf(revision()));
  });

  it("changes with the image or the annotations of its pods", () => {
    expect(digestOf(revision({ image: "web:2" }))).not.toBe(digestOf(revision()));
    expect(digestOf(revision({ podAnnotations: { checksum: "1" } }))).not.toBe(digestOf(revision()));
  });
});

describe("[U10] a restart of what is in force", () => {
  it("is its content with the template's current restart marks", () => {
    const asked = revision({ image: "web:broken", restart: "t2", podAnnotations: { [KUBECTL]: "t1" }, config: "new" });
    const inForce = revision({ config: "old", restart: "t0" });
    const restarted = withRestartMarks(inForce, asked);
    expect(restarted).toEqual(revision({ config: "old", restart: "t2", podAnnotations: { [KUBECTL]: "t1" } }));
    expect(templateMarks(restarted).restart).toBe(templateMarks(asked).restart);
    expect(withRestartMarks(restarted, revision({ config: "old" }))).toEqual(revision({ config: "old" }));
  });
});

describe("what changed in addition to the template", () => {
  it("is named by kind and name", () => {
    expect(changedBeside(revision({ config: "a" }), revision({ config: "b" }))).toEqual(["ConfigMap n/c"]);
    expect(changedBeside(revision(), revision({ config: "b" }))).toEqual(["ConfigMap n/c"]);
    expect(changedBeside(revision(), revision({ labels: { team: "a" } }))).toEqual([
      "labels or annotations of StatefulSet n/web",
    ]);
    expect(changedBeside(revision(), revision({ restart: "t" }))).toEqual([]);
  });
});
