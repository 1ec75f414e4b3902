/**
 * A ledger or a Work with a term that no leader wrote affects only its own application: only the lease decides which
 * process leads.
 */
import { afterEach, beforeEach, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { statefulSet, WORKS } from "../engine/testing/contract/index.ts";
import { type KubeObject, type Resource, resource } from "../kube/index.ts";
import { isJsonObject } from "../runtime/index.ts";
import { PodRecorder, World } from "./testing/world.ts";

const LEDGERS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterLedger",
  plural: "crossclusterledgers",
  namespaced: true,
});
const LEASES = resource({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", plural: "leases", namespaced: true });
const TERM = "lockstep.karmada.io/term";
const schemas = new SchemaCache();
let world: World;
let pods: PodRecorder;

beforeEach(async () => {
  world = new World(71, { schemas, members: ["member1", "member2"] });
  await world.start();
  pods = new PodRecorder(world.fleet);
  for (const name of ["web", "other"]) {
    await world.apply({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name, namespace: "default" },
      spec: {
        resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name, namespace: "default" },
        topology: {
          clusters: [
            { name: "member1", replicas: 1 },
            { name: "member2", replicas: 2 },
          ],
        },
      },
    });
    await world.apply(statefulSet(name, 3, `${name}:1`));
    await world.until(`${name} is settled`, () => world.isSettled(name, 3));
  }
});
afterEach(() => world.stop());

async function find(of: Resource, isIt: (object: KubeObject) => boolean): Promise<KubeObject> {
  const found = (await world.ask(world.hub.listAll(of))).items.find(isIt);
  if (!found) throw new Error(`there is no such ${of.kind}`);
  return found;
}
const ledgerOf = (name: string) =>
  find(LEDGERS, ({ spec }) => new RegExp(`"app":\\{"name":"${name}"`).test(JSON.stringify(spec)));
const workOf = (name: string) =>
  find(WORKS, ({ metadata }) => {
    return metadata.namespace === "karmada-es-member1" && metadata.name.startsWith(`${name}-statefulset-`);
  });
const leadership = async () => {
  const { spec } = await find(LEASES, () => true);
  return isJsonObject(spec) ? [spec.holderIdentity, spec.leaseTransitions] : [];
};
async function setTerm(of: Resource, { metadata }: KubeObject, term: string): Promise<void> {
  const body = { metadata: { annotations: { [TERM]: term } } };
  await world.ask(world.hub.patch(of, metadata, { type: "merge", body }));
}

/** An update completes. */
async function updated(name: string, image: string): Promise<void> {
  await world.apply(statefulSet(name, 3, image));
  const isIt = ([pod]: [string, string]) => pod.includes(`/${name}-`);
  await world.until(`${name} runs ${image}`, () => {
    const images = Object.entries(pods.images()).filter(isIt);
    return world.isSettled(name, 3) && images.every(([, running]) => running === image);
  });
}

const HUGE = ["9007199254740991", "9007199254740993", "1e300", "-1", "later"];

it.each(HUGE)("a ledger with term %s is unreadable for its application, and affects no other", async (term) => {
  const before = await leadership();
  const ledger = await ledgerOf("web");
  await setTerm(LEDGERS, ledger, term);
  await world.apply(statefulSet("web", 3, "web:2"));
  await world.until("it reports that", () => world.status("web").reason === "LedgerUnreadable");
  expect(world.status("web").message).toMatch(/CrossClusterLedger .*term.*kubectl annotate crossclusterledger /s);
  await updated("other", "other:2");
  await world.clock.advance(60_000);
  expect(await leadership()).toEqual(before);

  await setTerm(LEDGERS, ledger, "0");
  await world.until("it continues by itself", () => world.isSettled("web", 3));
  await updated("web", "web:3");
  expect(await leadership()).toEqual(before);
});

it.each(HUGE)("a Work with term %s stops its application with the remedy, and affects no other", async (term) => {
  const before = await leadership();
  const work = await workOf("web");
  await setTerm(WORKS, work, term);
  await world.apply(statefulSet("web", 3, "web:2"));
  await world.until("it reports that", () => world.status("web").reason === "TermOutOfRange");
  const { namespace, name } = work.metadata;
  expect(world.status("web").message).toContain(`Work ${namespace}/${name} `);
  expect(world.status("web").message).toContain(`kubectl annotate work ${name} -n ${namespace} ${TERM}=0 --overwrite`);
  await updated("other", "other:2");
  await world.clock.advance(60_000);
  expect(await leadership()).toEqual(before);

  await setTerm(WORKS, work, "0");
  await world.until("it continues by itself", () => world.isSettled("web", 3));
  await updated("web", "web:3");
  expect(await leadership()).toEqual(before);
});

it("a Work or a ledger with a later term makes its application's leader claim it again, above that term", async () => {
  const before = await leadership();
  await setTerm(WORKS, await workOf("web"), "5000");
  await updated("web", "web:2");
  const termOf = (object: KubeObject) => Number(object.metadata.annotations?.[TERM]);
  expect(termOf(await ledgerOf("web"))).toBeGreaterThan(5_000);
  expect(termOf(await workOf("web"))).toBe(termOf(await ledgerOf("web")));

  await setTerm(LEDGERS, await ledgerOf("web"), "7000");
  await updated("web", "web:3");
  expect(termOf(await ledgerOf("web"))).toBeGreaterThan(7_000);
  expect(await leadership()).toEqual(before);
});

it("a deleted ledger is recreated with a term above those of its Works", async () => {
  await setTerm(WORKS, await workOf("web"), "300");
  await updated("web", "web:2");
  const before = await leadership();
  await world.ask(world.hub.delete(LEDGERS, (await ledgerOf("web")).metadata));
  await updated("web", "web:3");
  const term = Number((await ledgerOf("web")).metadata.annotations?.[TERM]);
  expect(term).toBeGreaterThan(300);
  expect(await leadership()).toEqual(before);
});
