import { describe, expect, it } from "vitest";
import type { Dependency } from "../../interpret/index.ts";
import { carriedRefs } from "./dependencies.ts";

const known = (...value: Dependency[]) => ({ kind: "known", value, layer: "customization", source: "mine" }) as const;
const config = (name: string, namespace?: string): Dependency => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name,
  ...(namespace !== undefined && { namespace }),
});

describe("the dependencies that travel with a template", () => {
  it("are ConfigMaps, Secrets and ServiceAccounts of its own namespace", () => {
    const claim = { apiVersion: "v1", kind: "PersistentVolumeClaim", name: "data", namespace: "elsewhere" };
    const answer = known(config("a", "shop"), config("b"), config("c", ""), claim);
    const found = carriedRefs(answer, "shop");
    expect(found).toEqual({
      kind: "refs",
      refs: ["a", "b", "c"].map((name) => ({ apiVersion: "v1", kind: "ConfigMap", namespace: "shop", name })),
    });
  });

  it("[U18] are all refused if one is in another namespace; the error names the object and the rule", () => {
    const secret = { apiVersion: "v1", kind: "Secret", namespace: "kube-system", name: "keys" };
    expect(carriedRefs(known(config("a"), secret), "shop")).toEqual({
      kind: "refused",
      message:
        "Secret kube-system/keys is not in the template's namespace shop; " +
        "spec.customizations.dependencyInterpretation " +
        "of ResourceInterpreterCustomization mine names it",
      remedy: "Copy the object into shop and have the rule name that one; other namespaces are never read.",
    });
  });

  it("are none where no interpreter knows the kind, and unknown where one has not answered", () => {
    expect(carriedRefs({ kind: "none" }, "shop")).toEqual({ kind: "refs", refs: [] });
    const pending = { kind: "pending", message: "m", remedy: "r" } as const;
    expect(carriedRefs(pending, "shop")).toBe(pending);
  });
});
