import type { Core } from "../core.ts";
import type { Collector } from "./collector.ts";
import { textAt } from "./values.ts";

const EVENTS = "/events";

/** Kubernetes deletes Events after an hour; otherwise the server would grow as long as it runs. */
const KEPT_MS = 60 * 60 * 1000;

/**
 * Finding old ones means reading all. So it runs once per this many new ones, or once as many have come as were kept
 * the last time: then each is read about once, however many there are.
 */
const MIN_EVENTS_PER_SWEEP = 64;

/**
 * Removes old Events. Counts new ones instead of using a timer: the same requests and clock always remove the same
 * ones.
 */
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
