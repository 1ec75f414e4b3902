import { afterAll, beforeAll, expect, it } from "vitest";
import { SeedPool } from "./testing/seed-pool.ts";
import { campaign, jobCampaign, ocmCampaign } from "./testing/seeds.ts";

const HOURS_MS = 3_600_000;

let pool: SeedPool;

beforeAll(async () => {
  pool = await SeedPool.start();
});

afterAll(() => pool.stop());

it("every property holds for every seed of the lean tier", { timeout: 2 * HOURS_MS }, async () => {
  const { seeds, reach } = await campaign(pool, "lean");
  expect(reach["settled in the end"]).toBeGreaterThan(seeds / 4);
});

it("every property holds for every seed of the full tier", { timeout: 2 * HOURS_MS }, async () => {
  const { seeds, reach } = await campaign(pool, "full");
  expect(reach["settled in the end"]).toBeGreaterThan(seeds / 4);
});

it("every property holds for every seed on the lean model of OCM", { timeout: 2 * HOURS_MS }, async () => {
  const { seeds, reach } = await ocmCampaign(pool);
  expect(reach["settled in the end"]).toBeGreaterThan(seeds / 4);
});

it("never two attempts of a CrossClusterJob are alive, for every seed on the lean model of Karmada", {
  timeout: 2 * HOURS_MS,
}, async () => {
  const { seeds, reach } = await jobCampaign(pool, "karmada");
  expect(reach["the work is Complete"]).toBeGreaterThan(seeds / 2);
});

it("never two attempts of a CrossClusterJob are alive, for every seed on the lean model of OCM", {
  timeout: 2 * HOURS_MS,
}, async () => {
  const { seeds, reach } = await jobCampaign(pool, "ocm");
  expect(reach["the work is Complete"]).toBeGreaterThan(seeds / 2);
});
