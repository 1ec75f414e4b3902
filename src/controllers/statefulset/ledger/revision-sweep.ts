import { type Cache, type KubeClient, type KubeObject, NotFoundError } from "../../../kube/index.ts";
import type { Clock, Log } from "../../../runtime/index.ts";
import { readStoredRevisions } from "../../common/owned-ledgers.ts";
import { ownerId } from "../../common/owner.ts";
import { OWN, SECRETS } from "../../common/resources.ts";
import { isPartOf } from "../../common/revisions/revision-store.ts";

export interface SweepOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly ledgers: Cache<KubeObject>;
  readonly namespace: string;
  readonly mayAct: () => boolean;
}

/** Orphans cost only space: once an hour is often enough. */
const INTERVAL_MS = 3_600_000;
/** A part is written before the ledger that names it. One that is as old as this is not on its way into a ledger. */
const MIN_AGE_MS = 3_600_000;

/**
 * Deletes revision parts that no ledger names: a process that died between a part and its ledger left them, or a ledger
 * was deleted by hand. Runs until aborted.
 */
export async function sweepRevisions(options: SweepOptions, signal: AbortSignal): Promise<void> {
  const { clock, log } = options;
  while (!signal.aborted) {
    await clock.sleep(INTERVAL_MS, signal).catch(() => {});
    if (signal.aborted || !options.mayAct()) continue;
    try {
      await sweepOnce(options);
    } catch (error) {
      log.warn("revisions that no ledger names could not be looked for", { reason: String(error) });
    }
  }
}

export async function sweepOnce({ client, clock, ledgers, namespace }: SweepOptions): Promise<void> {
  const named = new Map(
    ledgers.list().flatMap((ledger) => {
      const found = readStoredRevisions(ledger);
      return found ? [[ownerId(found.owner), found.revisions] as const] : [];
    }),
  );
  for await (const part of client.list(SECRETS, { namespace, labelSelector: OWN.owner })) {
    const { labels, creationTimestamp, uid } = part.metadata;
    const entries = named.get(labels?.[OWN.owner] ?? "");
    const ageMs = clock.now() - Date.parse(String(creationTimestamp));
    if (uid === undefined || !(ageMs >= MIN_AGE_MS) || entries?.some((entry) => isPartOf(part, entry))) continue;
    try {
      await client.delete(SECRETS, part.metadata, { preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
}
