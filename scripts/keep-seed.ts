// `npx tsx scripts/keep-seed.ts SEED "what must hold" [full|ocm]`: prints what a seed draws as a story, to be pasted into a file of
// src/sim/regressions and formatted. The story stays what it is when seeds draw other worlds.
import { FULL_ABILITIES } from "../src/sim/full/ground.ts";
import { storyOf } from "../src/sim/regressions/story.ts";
import { OCM_ABILITIES } from "../src/sim/seed/ocm.ts";
import { LEAN_ABILITIES } from "../src/sim/seed/run.ts";
import { scenarioOf } from "../src/sim/seed/scenario.ts";

const [seed, title, tier] = process.argv.slice(2);
const abilities = tier === undefined ? LEAN_ABILITIES : { full: FULL_ABILITIES, ocm: OCM_ABILITIES }[tier];
if (!Number.isSafeInteger(Number(seed)) || !title || !abilities) {
  console.error('usage: npx tsx scripts/keep-seed.ts SEED "what must hold" [full|ocm]');
  process.exit(1);
}
const scenario = scenarioOf(Number(seed), undefined, abilities);
const { title: _, timing, ...rest } = storyOf(scenario, title);
console.log(JSON.stringify({ title, timing, ...(tier === "full" && { tier }), ...rest }, null, 2));
