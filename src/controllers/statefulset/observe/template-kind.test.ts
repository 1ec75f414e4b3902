import { expect, it } from "vitest";
import { refusedKind } from "./template-kind.ts";

const XLINE = { plural: "xlineclusters", group: "apps.my.io" };

it("a StatefulSet may be a template, and so may every kind that the administrator named", () => {
  expect(refusedKind({ apiVersion: "apps/v1", kind: "StatefulSet" }, [])).toBeUndefined();
  expect(refusedKind({ apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster" }, [XLINE])).toBeUndefined();
});

it.each([
  ["v1", "Secret"],
  ["apps/v1", "Deployment"],
  ["apps.my.io/v1alpha1", "Backup"],
  ["evil.io/v1", "XlineCluster"],
])("%s %s may not be a template, and the message says who can allow it", (apiVersion, kind) => {
  const said = refusedKind({ apiVersion, kind }, [XLINE]);
  expect(said).toContain(`${kind} of ${apiVersion} may not be a template here`);
  expect(said).toContain("Allowed: StatefulSet, xlineclusters.apps.my.io");
});
