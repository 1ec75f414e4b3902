import { expect, it } from "vitest";
import { admissionPolicies, DEFAULT_POLICY_SETTINGS } from "../../../api/index.ts";
import type { User } from "../../../apiserver/index.ts";
import { account } from "../../../apiserver/testing/roles.ts";
import type { EmbeddedFleetOptions } from "../../../embedded/index.ts";
import { World } from "../../../embedded/testing/world.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { runCli } from "../../program.ts";
import { testIo } from "../../testing/harness.ts";
import { installManifests } from "../install/manifests.ts";

/** The output of `lockstep doctor` for this user, on a hub with these objects. */
async function doctor(options: Partial<EmbeddedFleetOptions>, user?: User): Promise<string> {
  const world = new World(3, options);
  await world.start();
  const io = testIo(world.clock, world.fleet.hub.transport(user));
  await world.clock.run(runCli(["doctor"], io));
  await world.stop();
  return [...io.out, ...io.err].join("");
}

/** Its line about admission policies. */
async function diagnosis(installed: readonly JsonObject[]): Promise<string> {
  const lines = (await doctor({ installed })).split("\n");
  const at = lines.findIndex((line) => line.includes("admission policies: "));
  return lines.slice(at, at + 2).join("\n");
}

const workloads = [{ plural: "xlineclusters", group: "apps.my.io" }];
const settings = { ...DEFAULT_POLICY_SETTINGS, workloads, requireAllowedClusters: true };
const policies = admissionPolicies(settings);
const nameOf = ({ metadata }: JsonObject) => (isJsonObject(metadata) ? String(metadata.name) : "");

it("doctor reports what the installed policies allow, from the settings of the installation", async () => {
  const said = await diagnosis(policies);
  expect(said).toMatch(/^ok +admission policies: 18 are installed and bound to deny/);
  expect(said).toContain("templates may be StatefulSet, xlineclusters.apps.my.io;");
  expect(said).toContain("are written by system:serviceaccount:lockstep-system:lockstep-controller and administrators");
  expect(said).toContain("a namespace without allowed clusters may use none");
});

it("doctor says what the policies guard on this engine", async () => {
  const said = await diagnosis(admissionPolicies({ ...settings, engine: "ocm" }));
  expect(said).toContain("ManifestWorks, ledgers, revisions and namespace lockstep-system are written by");
  expect(said).not.toContain("holds");
});

it("doctor names policies that are missing, unbound, loosened or edited, with the remedy", async () => {
  const changed = policies.flatMap((object) => {
    const [name, kind] = [nameOf(object).split(".")[0], object.kind];
    if (name === "works" || (name === "ledgers" && kind === "ValidatingAdmissionPolicyBinding")) return [];
    if (name === "holds" && kind === "ValidatingAdmissionPolicyBinding") {
      const spec = isJsonObject(object.spec) ? object.spec : {};
      return [{ ...object, spec: { ...spec, validationActions: ["Audit"] } }];
    }
    return [object];
  });
  const said = await diagnosis(changed);
  expect(said).toMatch(/^problem +admission policies: not installed, or without a binding: works, ledgers;/);
  expect(said).toContain("different from what this program writes: holds");
  expect(said).toContain("lockstep install --apply, with the same options as before");
});

it("doctor finds a hub without policies", async () => {
  expect(await diagnosis([])).toContain("not installed, or without a binding: template-namespace, template-kinds,");
});

it("doctor under the controller's own account continues where the account may not read, and reports that", async () => {
  const systemNamespace = "lockstep-system";
  // Without the role for members, which the hub has, too, the account reads neither CRDs nor policies there.
  const installed = installManifests({ systemNamespace, workloads: [], standingHold: false }).filter(
    ({ metadata }) => isJsonObject(metadata) && metadata.name !== "lockstep-member",
  );
  const said = await doctor({ installed, authorizer: "RBAC" }, account(systemNamespace, "lockstep-controller"));
  expect(said).toMatch(/warning +CRDs: this identity may not read: GET CustomResourceDefinition/);
  expect(said).toMatch(/warning +admission policies: this identity may not read/);
  expect(said).toMatch(/ok +controller: .* leads \(Lease lockstep-system\/lockstep-controller\)/);
  expect(said).toMatch(/ok +member member3: is Ready/);
  expect(said).toContain("No problems found.");
});
