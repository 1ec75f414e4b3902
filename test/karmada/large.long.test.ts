import { afterAll, beforeAll, describe } from "vitest";
import { largeSpec, largeStory } from "../stories/large.ts";
import { installXline, SEED_MANIFEST, XLINES, xline } from "../stories/xline.ts";
import { CCS, MANAGER, startWorld, type World } from "./world.ts";

describe("[I11] an application that is too large for annotations, over three real clusters", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
    await installXline(world);
  });
  afterAll(() => world?.stop());

  largeStory(
    () => world,
    async ({ hub, until, status }, each) => {
      await hub.apply(CCS, { ...SEED_MANIFEST, spec: { ...SEED_MANIFEST.spec, ...largeSpec(each) } }, MANAGER);
      if (await hub.find(XLINES, { namespace: "default", name: "xline" })) return;
      await until("the hold is in place", async () => (await status("xline")).reason === "TemplateMissing");
      await hub.apply(XLINES, xline("xline:1"), MANAGER);
    },
  );
});
