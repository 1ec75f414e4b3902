/** The commands to paste name only kinds that the hub's own engine serves. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { EngineName } from "../../../api/index.ts";
import { CONTROLLER_REASONS } from "../../../controllers/index.ts";
import { REASONS } from "../../../rollout/index.ts";
import { remedyOf } from "../../applications/remedies.ts";
import { guideOf, type PasteFacts } from "./reasons.ts";

const OF_KARMADA =
  /\b(clusters?|works?|resourcebindings?|\w*propagationpolic(y|ies)|\w*overridepolic(y|ies)|workloadrebalancers?|resource\w+webhookconfigurations)\b|karmada-es-|karmadactl/;
const OF_OCM = /\b(managedcluster\w*|manifestworks?|placements?|placementdecisions?|addonplacementscores?)\b/;
const FOREIGN: Readonly<Record<EngineName, RegExp>> = { karmada: OF_OCM, ocm: OF_KARMADA };

const facts = (engine: EngineName): PasteFacts => ({
  ...{ program: "lockstep", engine, name: "web", namespace: "shop", cluster: "east", isGivenUp: false },
  ...{ kind: "StatefulSet", template: "web", isInline: engine === "ocm", placement: "zones", selector: "app=web" },
});
const codes = Object.keys({ ...REASONS, ...CONTROLLER_REASONS });

/** Only kubectl names kinds of the engine; labels of Lockstep's own are the same on both. */
const asked = (commands: readonly string[]) =>
  commands.filter((command) => command.startsWith("kubectl")).map((command) => command.replace(/-l '?\S+/, ""));

describe.each(["karmada", "ocm"] as const)("on a hub of %s", (engine) => {
  it.each(codes)("%s: the commands of why name no kind of another engine", (code) => {
    for (const cluster of ["east", undefined]) {
      const commands = guideOf(code)?.paste({ ...facts(engine), cluster }) ?? [];
      expect(commands).not.toEqual([]);
      for (const command of asked(commands)) expect(command).not.toMatch(FOREIGN[engine]);
    }
  });

  it.each(codes)("%s: the commands for an application name no kind of another engine", (code) => {
    for (const cluster of ["east", undefined]) {
      const commands = remedyOf(code, { ...facts(engine), serviceAccount: "default", cluster });
      for (const command of asked(commands)) expect(command).not.toMatch(FOREIGN[engine]);
    }
  });
});

it("what a reason means is said without the dispatch objects of one engine alone", () => {
  const meanings = Object.values({ ...REASONS, ...CONTROLLER_REASONS }).map(({ meaning }) => meaning);
  for (const meaning of meanings) expect(/\bWorks?\b/.test(meaning)).toBe(/\bManifestWorks?\b/.test(meaning));
});

it("the planners' own remedies name no kind of any engine", () => {
  const folder = new URL("../../../", import.meta.url);
  const files = ["plan", "applications", "jobs", "rollout"].flatMap((room) =>
    readdirSync(new URL(`${room}/`, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !/test|check|mutants/.test(file))
      .map((file) => `${room}/${file}`),
  );
  expect(files.length).toBeGreaterThan(50);
  const commands = files.flatMap((file) => readFileSync(new URL(file, folder), "utf8").match(/kubectl [^`"']*/g) ?? []);
  for (const command of commands) for (const foreign of [OF_KARMADA, OF_OCM]) expect(command).not.toMatch(foreign);
  const texts = files.map((file) =>
    readFileSync(new URL(file, folder), "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ""),
  );
  for (const text of texts) expect(text).not.toMatch(/PropagationPolicy|OverridePolicy|ResourceBinding|ManifestWork/);
});
