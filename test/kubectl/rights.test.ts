/** Every question of docs/rights.md, asked with the real `kubectl auth can-i`. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { kubeconfigText, type SecureFront, startSecureFront } from "../../src/apiserver/front/index.ts";
import { ApiServer } from "../../src/apiserver/index.ts";
import { defaultRoles } from "../../src/apiserver/testing/roles.ts";
import { isJsonObject, type JsonObject, systemClock, systemRandom, valueAt } from "../../src/runtime/index.ts";
import { installed, PEOPLE, type Person, surroundings } from "../attacks/ground.ts";
import { findKubectl } from "./find.ts";

const ACTORS: Readonly<Record<string, Person>> = { "on-call": "onCall" };
const ROW = /^\| ([a-z-]+) \| (hub|member) \| `([^`]+)` \| (yes|no) \|/gm;
const rows = [...readFileSync(new URL("../../docs/rights.md", import.meta.url), "utf8").matchAll(ROW)].map(
  ([, who = "", where = "", question = "", answer = ""]) => [who, where, question, answer] as const,
);
const MEMBER_ROLES = ["lockstep-member", "lockstep-on-call"];

/** kubectl asks about a kind under its group only if the server serves it. */
const KARMADA_KINDS = [
  definition("work.karmada.io", "Work", "Namespaced"),
  definition("cluster.karmada.io", "Cluster", "Cluster"),
];

const folder = mkdtempSync(join(tmpdir(), "lockstep-rights-"));
const fronts: Record<string, SecureFront> = {};
let kubectl = "";

beforeAll(async () => {
  kubectl = (await findKubectl()).path;
  const objects = [...defaultRoles(), ...surroundings(), ...installed()];
  const rights = objects.filter(({ apiVersion }) => apiVersion === "rbac.authorization.k8s.io/v1");
  const kinds = installed().filter(({ kind }) => kind === "CustomResourceDefinition");
  fronts.hub = await serve("hub", rights, [...kinds, ...KARMADA_KINDS]);
  // What the ClusterPropagationPolicies of `lockstep install` carry.
  fronts.member = await serve(
    "member",
    rights.filter((object) => MEMBER_ROLES.includes(String(valueAt(object, "roleRef", "name") ?? nameOf(object)))),
  );
});

afterAll(async () => {
  await Promise.all(Object.values(fronts).map((front) => front.close()));
  rmSync(folder, { recursive: true, force: true });
});

it.each(rows)("%s in the %s: can-i %s: %s", async (who, where, question, answer) => {
  const actor = ACTORS[who] ?? who;
  if (!isPerson(actor)) throw new Error(`docs/rights.md names '${who}', which this test does not know`);
  const kubeconfig = join(folder, `${who}-${where}`);
  const context = await fronts[where]?.context(PEOPLE[actor]);
  if (!context) throw new Error(`there is no ${where}`);
  writeFileSync(kubeconfig, kubeconfigText([context]), { mode: 0o600 });
  expect(await canI(kubeconfig, question.split(" "))).toBe(answer);
});

it("the page asks of every actor, on the hub and in members", () => {
  expect(rows.length).toBeGreaterThan(30);
  expect(new Set(rows.map(([who]) => who)).size).toBe(6);
});

async function serve(
  name: string,
  rights: readonly JsonObject[],
  kinds: readonly JsonObject[] = [],
): Promise<SecureFront> {
  const server = new ApiServer({ clock: systemClock, random: systemRandom, authorizer: "RBAC" });
  const create = async (path: string, object: JsonObject) => {
    const answer = await server.handle({ method: "POST", path, headers: {}, body: JSON.stringify(object) });
    if (answer.status !== 201 && answer.status !== 409) throw new Error(`${path}: ${answer.body}`);
  };
  for (const kind of kinds) await create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kind);
  for (const namespace of new Set(rights.map((object) => String(valueAt(object, "metadata", "namespace") ?? "shop")))) {
    await create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  }
  for (const object of rights) {
    const namespace = valueAt(object, "metadata", "namespace");
    const where = namespace === undefined ? "" : `namespaces/${namespace}/`;
    await create(`/apis/rbac.authorization.k8s.io/v1/${where}${String(object.kind).toLowerCase()}s`, object);
  }
  return startSecureFront({ name, server, clock: systemClock });
}

function definition(group: string, kind: string, scope: string): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, names, scope, versions: [{ name: "v1alpha1", served: true, storage: true, schema }] },
  };
}

/** The first word that kubectl prints; it exits with 1 for no. */
function canI(kubeconfig: string, question: readonly string[]): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: kubeconfig };
  return new Promise((resolve) => {
    execFile(kubectl, ["auth", "can-i", ...question], { env }, (_, stdout, stderr) =>
      resolve(/^(yes|no)\b/m.exec(stdout)?.[1] ?? stdout + stderr),
    );
  });
}

function nameOf(object: JsonObject): string {
  const { metadata } = object;
  return isJsonObject(metadata) ? String(metadata.name) : "";
}

function isPerson(name: string): name is Person {
  return name in PEOPLE;
}
