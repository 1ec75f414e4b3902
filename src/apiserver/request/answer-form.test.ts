import { expect, it } from "vitest";
import { answerForm, isWrongForm } from "./answer-form.ts";

const KUBECTL =
  "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

it.each([
  [KUBECTL, "table"],
  ["application/json; as=Table; v=v1; g=meta.k8s.io", "table"],
  ["application/json", "object"],
  ["application/json,application/json;as=Table;v=v1;g=meta.k8s.io", "object"],
  ["application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json", "metadata"],
  ["application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io,application/json", "object"],
  ["application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json", "object"],
  ["application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json", "metadata"],
  ["*/*", "object"],
  [undefined, "object"],
])("a client that accepts %s gets the format: %s", (accept, expected) => expect(answerForm(accept)).toBe(expected));

it("a list requested as an object, and an object requested as a list, are refused as in Kubernetes", () => {
  const list = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
  const object = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
  expect([isWrongForm(list, true), isWrongForm(object, false)]).toEqual([false, false]);
  expect([isWrongForm(object, true), isWrongForm(list, false)]).toEqual([true, true]);
});
