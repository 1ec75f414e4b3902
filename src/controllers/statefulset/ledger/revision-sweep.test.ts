import { afterEach, beforeEach, expect, it } from "vitest";
import { emptyLedger } from "../../../plan/index.ts";
import { snapshotRevision } from "../../../render/index.ts";
import { silentLog } from "../../../runtime/index.ts";
import { LedgerStore } from "../../common/ledger-store.ts";
import { LEDGERS, SECRETS } from "../../common/resources.ts";
import { RevisionStore } from "../../common/revisions/revision-store.ts";
import { TestHub } from "../../testing/objects.ts";
import { STATEFULSET_LEDGERS } from "./ledger-format.ts";
import { sweepOnce } from "./revision-sweep.ts";

const OWNER = { namespace: "default", name: "web", uid: "uid-web" };
const NAMESPACE = "lockstep-system";
const HOUR_MS = 3_600_000;

let hub: TestHub;

beforeEach(() => {
  hub = new TestHub();
});
afterEach(() => hub.stop());

function content(image: string) {
  const template = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "web" }, spec: { image } };
  return snapshotRevision({ template, dependencies: [] });
}

it("parts that no ledger names are deleted when they are old, and those that one names stay", async () => {
  const { client, clock } = hub;
  const ledgers = await hub.cacheOf(LEDGERS);
  const revisions = new RevisionStore({ client, clock, log: silentLog, namespace: NAMESPACE });
  const save = (image: string) => hub.ask(revisions.save(OWNER, content(image), async () => {}));
  await save("app:1");
  const named = revisions.entries(OWNER);
  const store = new LedgerStore(STATEFULSET_LEDGERS, client, ledgers, NAMESPACE);
  await hub.ask(store.claim(OWNER, async () => ({ ledger: emptyLedger(), revisions: named })));
  await save("app:2");
  const sweep = () =>
    hub.ask(sweepOnce({ client, clock, log: silentLog, ledgers, namespace: NAMESPACE, mayAct: () => true }));
  await sweep();
  expect(hub.api.list(SECRETS)).toHaveLength(2);
  await clock.run(clock.sleep(HOUR_MS));
  await sweep();
  const left = hub.api.list(SECRETS).map(({ metadata }) => metadata.name);
  expect(left).toHaveLength(1);
  expect(left[0]).toContain(named[0]?.digest.slice(0, 24));
});
