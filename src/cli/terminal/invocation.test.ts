import { expect, it } from "vitest";
import { typedName } from "./invocation.ts";

it("in a clone the program is named by its path, elsewhere by its name", () => {
  expect(typedName("lockstep", "/home/me/clone/bin/lockstep", "/home/me/clone")).toBe("./bin/lockstep");
  expect(typedName("lockstep", "/home/me/clone/bin/lockstep", "/home/me/clone/bin")).toBe("./lockstep");
  expect(typedName("lockstep", "/usr/local/bin/lockstep", "/home/me")).toBe("lockstep");
  expect(typedName("kubectl lockstep", "/usr/local/bin/kubectl-lockstep", "/home/me")).toBe("kubectl lockstep");
  expect(typedName("lockstep", "/home/me/clone/src/cli/main.ts", "/home/me/clone")).toBe("lockstep");
  expect(typedName("lockstep", undefined, "/home/me")).toBe("lockstep");
});
