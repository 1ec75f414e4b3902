/**
 * Text in fields, patched by the libraries that Karmada 1.18.2 uses (json-patch v5.9.11, sigs.k8s.io/yaml v1.6.0): what they
 * wrote for each is in the file, null where they fail.
 */
import { expect, it } from "vitest";
import { OverrideBudget } from "./override-budget.ts";
import { applyOverriders, OverriderError } from "./overriders.ts";
import texts from "./testing/karmada-texts.json" with { type: "json" };

interface Patch {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

function patched(format: string, text: string, patch: readonly Patch[]): unknown {
  const operations = patch.map(({ op, path, value }) => ({ operator: op, subPath: path, value: value as string }));
  const overriders = { fieldOverrider: [{ fieldPath: "/data/k", [format]: operations }] };
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: {}, data: { k: text } };
  try {
    const { data } = applyOverriders(object, overriders, new OverrideBudget());
    return (data as { k: string }).k;
  } catch (error) {
    if (error instanceof OverriderError) return null;
    throw error;
  }
}

it("text in a field becomes what Karmada makes of it, byte for byte", () => {
  const differing = (texts as { format: string; text: string; patch: Patch[]; result: string | null }[]).filter(
    ({ format, text, patch, result }) => patched(format, text, patch) !== result,
  );
  expect(differing).toEqual([]);
  expect(texts.length).toBeGreaterThan(100);
});
