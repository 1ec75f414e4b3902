import type { Ledger } from "../../applications/index.ts";
import { RevisionDamagedError } from "../common/revisions/revision-content.ts";
import type { EarlierRenders } from "./bundler.ts";
import type { Bundle } from "./content.ts";
import type { SourceSeen } from "./session.ts";

export interface EarlierSources {
  readonly source: SourceSeen | null;
  /** All revisions that are stored, the newest first. */
  readonly stored: readonly string[];
  readonly begun: ReadonlySet<string>;
  readonly bundle: (revision: string) => Promise<Bundle | undefined>;
}

/** The revisions that any cluster has begun. */
export function begunIn({ clusters }: Pick<Ledger, "clusters">): ReadonlySet<string> {
  const ids = Object.values(clusters).flatMap(({ grant, deployed }) => [grant?.revision, deployed ?? undefined]);
  return new Set(ids.filter((id) => id !== undefined));
}

export async function earlierRenders({ source, stored, begun, bundle }: EarlierSources): Promise<EarlierRenders> {
  const read = async (ids: readonly string[], from = bundle) => {
    const found = await Promise.all(ids.map(from));
    return found.filter((each) => each !== undefined);
  };
  const last = source && (await bundle(source.revision));
  return {
    ...(last && { newest: { bundle: last, inputs: source.variants } }),
    distributed: await read(stored.filter((id) => begun.has(id))),
    earlier: await read(
      stored.filter((id) => !begun.has(id) && id !== source?.revision),
      (id) => bundle(id).catch(unlessDamaged),
    ),
  };
}

/** What no cluster needs any more must not stand in the way of a new revision. */
export function unlessDamaged(error: unknown): undefined {
  if (!(error instanceof RevisionDamagedError)) throw error;
}
