import { expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { SharedTexts } from "./shared-texts.ts";

const TOPOLOGY = "crossclusterstatefulset.karmada.io/topology";

function member(annotations?: Record<string, string>): KubeObject {
  const metadata = { name: "web", namespace: "default", ...(annotations && { annotations }) };
  return { apiVersion: "apps/v1", kind: "StatefulSet", metadata };
}

it("sharing texts changes nothing in an object, regardless of the previous one", () => {
  const texts = new SharedTexts();
  for (const topology of ["[1]", "[1]", "[2]", "[1]"]) {
    const object = member({ [TOPOLOGY]: topology, epoch: "3" });
    expect(texts.shared(object)).toEqual(object);
  }
  expect(texts.shared(member())).toEqual(member());
});

it("sharing texts keeps one text for each application, and none for applications that are gone", () => {
  const texts = new SharedTexts();
  for (let cluster = 0; cluster < 20; cluster++) texts.shared(member({ [TOPOLOGY]: `[${cluster % 2}]` }));
  expect(texts.size).toBe(1);
  texts.forget(member());
  expect(texts.size).toBe(0);
});
