import { expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
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

it("sharing keeps one pod template for all clusters of an application that have the same, and no other", () => {
  const texts = new SharedTexts();
  const withImage = (image: string) => ({
    ...member(),
    spec: { replicas: 2, template: { spec: { containers: [{ name: "app", image }] } } },
  });
  const templateOf = ({ spec }: KubeObject) => isJsonObject(spec) && spec.template;
  const [first, second, other] = ["app:1", "app:1", "app:2"].map((image) => texts.shared(withImage(image)));
  expect([first, second, other]).toEqual(["app:1", "app:1", "app:2"].map(withImage));
  expect(first && second && templateOf(first) === templateOf(second)).toBe(true);
});

it("sharing texts keeps one text for each application, and none for applications that are gone", () => {
  const texts = new SharedTexts();
  for (let cluster = 0; cluster < 20; cluster++) texts.shared(member({ [TOPOLOGY]: `[${cluster % 2}]` }));
  expect(texts.size).toBe(1);
  texts.forget(member());
  expect(texts.size).toBe(0);
});
