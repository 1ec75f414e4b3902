import type { Cache, KubeObject, ObjectName } from "../kube/index.ts";
import type { Clock } from "../runtime/index.ts";

/** Whether the object in the cache met the condition within the time. */
export function waitUntil(
  cache: Cache<KubeObject>,
  name: ObjectName,
  isSo: (object: KubeObject | undefined) => boolean,
  clock: Clock,
  timeoutMs: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    let isDone = false;
    const end = (answer: boolean) => {
      if (isDone) return;
      isDone = true;
      cancel();
      unsubscribe();
      resolve(answer);
    };
    const look = () => {
      if (isSo(cache.get(name))) end(true);
    };
    let unsubscribe = () => {};
    const cancel = clock.after(timeoutMs, () => end(false));
    unsubscribe = cache.subscribe({ added: look, updated: look, deleted: look });
    // `subscribe` may have found it before there was anything to unsubscribe.
    if (isDone) unsubscribe();
    else look();
  });
}
