import type { ParsedDistributedApplication } from "../../api/index.ts";
import type { KubeClient, RequestOptions } from "../../kube/index.ts";
import { type Clock, silentLog } from "../../runtime/index.ts";
import { ledgerNameOf, readLedgerObject } from "../common/owned-ledgers.ts";
import { ownerOf } from "../common/owner.ts";
import { APPLICATIONS, LEDGERS } from "../common/resources.ts";
import { RevisionStore } from "../common/revisions/revision-store.ts";
import type { EarlierRenders } from "./bundler.ts";
import { type Bundle, unpackBundle } from "./content.ts";
import { begunIn, earlierRenders } from "./earlier.ts";
import { FORMAT, type SourceSeen } from "./session.ts";

/** What is kept of an application in Lockstep's own namespace. */
export interface KeptApplication {
  /** Which inputs the newest revision was rendered from. */
  readonly source: SourceSeen | null;
  /** The whole content, Secrets included. */
  readonly bundle: (revision: string) => Promise<Bundle | undefined>;
  /** What the next revision is rendered from. */
  readonly earlier: () => Promise<EarlierRenders>;
}

/**
 * For previews: reads only. Undefined: nothing is kept, or it cannot be read. Throws ForbiddenError where the caller has
 * no rights in Lockstep's namespace.
 */
export async function readKept(
  client: KubeClient,
  clock: Clock,
  namespace: string,
  app: ParsedDistributedApplication,
  request: RequestOptions,
): Promise<KeptApplication | undefined> {
  const owner = ownerOf(app);
  const object = await client.find(LEDGERS, { namespace, name: ledgerNameOf(owner, FORMAT) }, request);
  const found = object && readLedgerObject(object, owner, FORMAT);
  if (found?.kind !== "stored") return undefined;
  const { ledger, revisions } = found.stored;
  const store = new RevisionStore({ client, clock, log: silentLog, namespace, of: APPLICATIONS });
  store.open(owner, revisions);
  const bundle = async (revision: string) => {
    const content = await store.content(owner, revision);
    return content && unpackBundle(content);
  };
  const stored = store.list(owner).map(({ id }) => id);
  const earlier = () => earlierRenders({ source: ledger.source, stored, begun: begunIn(ledger.ledger), bundle });
  return { source: ledger.source, bundle, earlier };
}
