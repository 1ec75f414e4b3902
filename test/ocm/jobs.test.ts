import { afterAll, beforeAll, describe } from "vitest";
import { gcStory } from "../stories/gc.ts";
import { jobStory } from "../stories/jobs.ts";
import type { World } from "../stories/world.ts";
import { startRelayedWorld } from "./world.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const ROLE = { name: "lockstep-gc" };

describe("CrossClusterJobs over three real clusters", () => {
  let world: World;
  beforeAll(async () => {
    world = await startRelayedWorld();
  });
  afterAll(() => world?.stop());

  jobStory(() => world);

  describe("what is left of objects that are gone", () => {
    // The account that Lockstep reads members with may delete nothing there; docs/guides/jobs.md says what gc needs.
    beforeAll(async () => {
      const rules = [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["delete"] }];
      const subjects = [{ kind: "ServiceAccount", namespace: "default", name: "lockstep" }];
      const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", ...ROLE };
      for (const api of world.stack.members.values()) {
        await api.request("POST", `${RBAC}/clusterroles`, { metadata: ROLE, rules });
        await api.request("POST", `${RBAC}/clusterrolebindings`, { metadata: ROLE, roleRef, subjects });
      }
    });
    gcStory(() => world);
  });
});
