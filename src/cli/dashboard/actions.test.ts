import { describe, expect, it } from "vitest";
import type { CrossClusterStatefulsetStatus } from "../../api/index.ts";
import { actionsOf } from "./actions.ts";

const AT = { type: "ccs", namespace: "shop", name: "web" } as const;
const ALL = { change: true, approve: true };
const COMMANDS = { program: "lockstep", seen: { uid: "1", revision: "web-b", wave: 1, past: [] } };
const rollout = { from: "web-a", to: "web-b", type: "Update", wave: 1 };

function names(status: CrossClusterStatefulsetStatus, isPaused = false, rights = ALL) {
  return actionsOf(AT, status, isPaused, rights, COMMANDS).map(({ action }) => action);
}

describe("actions", () => {
  it.each<[string, CrossClusterStatefulsetStatus, boolean, string[]]>([
    ["at rest", { phase: "Settled" }, false, ["pause"]],
    [
      "at rest, with a revision to return to",
      { phase: "Settled", previousRevision: "web-a" },
      false,
      ["pause", "undo"],
    ],
    ["during an update", { phase: "Updating", rollout }, false, ["pause", "abort"]],
    ["while it is paused", { phase: "Waiting", rollout }, true, ["resume", "abort"]],
    [
      "while it awaits approval",
      { rollout: { ...rollout, awaitingApproval: true } },
      false,
      ["approve", "pause", "abort"],
    ],
    [
      "while it soaks",
      { rollout: { ...rollout, soakUntil: "2026-01-01T00:00:00Z" } },
      false,
      ["pause", "promote", "abort"],
    ],
    ["outside the windows", { rollout: { ...rollout, windowClosed: true } }, false, ["pause", "promote", "abort"]],
    ["after a failure", { phase: "Halted", rollout }, false, ["resume", "abort"]],
    ["while it rolls back", { rollout: { ...rollout, type: "RollBack" } }, false, ["pause"]],
  ])("%s are those that the commands would accept", (_, status, isPaused, expected) => {
    expect(names(status, isPaused)).toEqual(expected);
  });

  it("that the viewer may not do say which right is missing", () => {
    const status = { rollout: { ...rollout, awaitingApproval: true } };
    const rights = { change: false, approve: true };
    expect(actionsOf(AT, status, false, rights, COMMANDS)).toMatchObject([
      { action: "approve", allowed: true },
      {
        action: "pause",
        allowed: false,
        reason: expect.stringContaining("patch crossclusterstatefulsets in namespace shop"),
      },
      { action: "abort", allowed: false },
    ]);
  });

  it("are not allowed if the hub does not answer whether they are", () => {
    const [pause] = actionsOf(AT, {}, false, { change: undefined, approve: undefined }, COMMANDS);
    expect(pause).toMatchObject({ allowed: false, command: "lockstep pause web -n shop" });
  });

  it("have commands that are refused once the rollout is at another wave", () => {
    const status = { rollout: { ...rollout, awaitingApproval: true, soakUntil: "2026-01-01T00:00:00Z" } };
    const commands = new Map(actionsOf(AT, status, false, ALL, COMMANDS).map((one) => [one.action, one.command]));
    expect(Object.fromEntries(commands)).toEqual({
      approve: "lockstep approve web -n shop --wave 1 --revision web-b",
      pause: "lockstep pause web -n shop",
      promote: "lockstep promote web -n shop --wave 1 --revision web-b",
      abort: "lockstep abort web -n shop --revision web-b",
    });
    expect(actionsOf(AT, { previousRevision: "web-a" }, false, ALL, COMMANDS)).toMatchObject([
      { action: "pause" },
      { action: "undo", toRevision: "web-a", command: "lockstep undo web -n shop --to-revision web-a" },
    ]);
  });

  it("say what an abort moves", () => {
    const clusters = [
      { name: "west", granted: { revision: "web-b", replicas: 2 } },
      { name: "east", granted: { revision: "web-a", replicas: 2 } },
    ];
    const abort = actionsOf(AT, { rollout, clusters }, false, ALL, COMMANDS).find(({ action }) => action === "abort");
    expect(abort?.consequence).toBe("Ends the rollout to web-b. Back to web-a, in order: west.");
  });
});
