import type { Collector } from "./collector.ts";
import type { Core } from "./core.ts";
import { textAt } from "./values.ts";

const EVENTS = "/events";

/** Kubernetes forgets Events after an hour; a server that did not would grow for as long as it runs. */
const KEPT_MS = 60 * 60 * 1000;

/**
 * Looking for old ones means looking at all, so it is done once in so many new ones, or once as many have come as were kept
 * the last time: however many there are, each is looked at about once.
 */
const MIN_EVENTS_PER_SWEEP = 64;

/** Removes old Events. Counts new ones instead of waiting: the same requests and clock always remove the same. */
export function expireEvents(core: Core, collector: Collector): void {
  let sinceSweep = 0;
  let kept = 0;
  core.store.listen(({ type, key }) => {
    if (key.resource !== EVENTS || type !== "ADDED") return;
    sinceSweep += 1;
    if (sinceSweep < Math.max(MIN_EVENTS_PER_SWEEP, kept)) return;
    sinceSweep = 0;
    collector.later(() => {
      kept = sweep(core);
    });
  });
}

/** How many are left. */
function sweep(core: Core): number {
  let kept = 0;
  const oldest = core.clock.now() - KEPT_MS;
  for (const { key, object } of [...core.store.objects(EVENTS, "")]) {
    const seen = textAt(object, "series", "lastObservedTime") ?? textAt(object, "lastTimestamp");
    const time = Date.parse(seen ?? textAt(object, "eventTime") ?? object.metadata.creationTimestamp ?? "");
    if (time < oldest) core.store.remove(key);
    else kept++;
  }
  return kept;
}
