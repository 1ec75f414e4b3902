import { expect, it } from "vitest";
import { missingKindText } from "./missing-kind.ts";

it.each([
  [
    "the error for a misspelled kind names the nearest one",
    ["apps/v1", "Statefulset"],
    { kinds: ["Deployment", "StatefulSet"], versions: [] },
    "the hub does not serve kind 'Statefulset' of apps/v1; the nearest is 'StatefulSet'",
  ],
  [
    "the error for a kind without a similar one only says that it is missing",
    ["apps/v1", "Xyz"],
    { kinds: ["Deployment", "StatefulSet"], versions: [] },
    "the hub does not serve kind 'Xyz' of apps/v1, which has 2 other kinds",
  ],
  [
    "the error for a missing version names the versions of the group",
    ["apps/v1beta1", "StatefulSet"],
    { kinds: [], versions: ["v1"] },
    "the hub does not serve kind 'StatefulSet' of apps/v1beta1; of that group it serves apps/v1",
  ],
  [
    "the error for a missing group says that the group is missing",
    ["apps.my.io/v1", "XlineCluster"],
    { kinds: [], versions: [] },
    "the hub does not serve kind 'XlineCluster' of apps.my.io/v1, nor any other kind of that group",
  ],
] as const)("%s", (_, [apiVersion, kind], served, text) => {
  expect(missingKindText(apiVersion, kind, served)).toBe(text);
});
