import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OCM_HUB } from "../../src/engine/testing/contract/index.ts";
import { adoptionStory } from "../stories/adoption.ts";
import { editsStory } from "../stories/edits.ts";
import { inlineStory } from "../stories/inline.ts";
import { statefulSetStory } from "../stories/statefulset.ts";
import type { World } from "../stories/world.ts";
import { startWorld } from "./world.ts";

/** One world for all: each story has an application of its own. */
let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

describe("an inline StatefulSet over three real clusters of OCM", () => {
  statefulSetStory(() => world);
});

describe("a workload in spec.template", () => {
  inlineStory(() => world, "inline");
});

describe("an application that ManifestWorks of another writer already deliver", () => {
  adoptionStory(() => world, "db");
});

describe("an application whose clusters a Placement selects", () => {
  const name = "placed";
  const weighted = ["member1", "member2"].map((cluster) => ({ name: cluster, weight: 2 }));

  beforeAll(async () => {
    const template = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name };
    await OCM_HUB.schedule(world.hub, { namespace: "default", name, template, placement: name }, 5);
  });

  editsStory(() => world, name, { topology: { placementRef: { name }, clusters: weighted } });
});

it("all of these needed no right on the hub that 'install' does not give", () => {
  expect(world.denied).toEqual([]);
});
