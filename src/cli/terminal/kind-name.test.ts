import { expect, it } from "vitest";
import { KINDS } from "../../api/index.ts";
import { KIND_WORDS, parseKindName } from "./kind-name.ts";

it("reads KIND/NAME in every form that kubectl users write, and a bare name as a CrossClusterStatefulset", () => {
  expect(parseKindName("web")).toEqual({ kind: "ccs", name: "web" });
  for (const word of ["ccj", "CrossClusterJob", "crossclusterjobs", "crossclusterjob.apps.karmada.io"]) {
    expect(parseKindName(`${word}/train`)).toEqual({ kind: "ccj", name: "train" });
  }
  expect(parseKindName("dapp/shop")).toEqual({ kind: "dapp", name: "shop" });
  expect(() => parseKindName("pod/web")).toThrow("'pod' is no kind of Lockstep");
});

it("has the names of the kinds themselves", () => {
  for (const [short, words] of Object.entries(KIND_WORDS)) {
    const found = KINDS.find(({ shortNames = [] }) => shortNames.includes(short));
    expect(words).toEqual([short, found?.singular, found?.plural]);
  }
});
