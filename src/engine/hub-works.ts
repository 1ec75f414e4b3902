import { type KubeClient, type KubeObject, Reflector, type Resource } from "../kube/index.ts";
import type { Clock, Log, Random } from "../runtime/index.ts";
import { refKey } from "./dispatch-objects.ts";
import { MARKS } from "./marks.ts";
import type { ObjectRef } from "./port.ts";
import { markOf } from "./tracking.ts";

export interface Reflecting {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

type ReflectorOptions = ConstructorParameters<typeof Reflector<KubeObject>>[0];

/** Follows a kind on the hub. */
export function reflect(
  { hub, clock, random, log }: Reflecting,
  of: Resource,
  more: Partial<ReflectorOptions> = {},
): Reflector<KubeObject> {
  return new Reflector<KubeObject>({ client: hub, resource: of, clock, random, log, ...more });
}

export interface WorkReflectors {
  /** With our label. */
  readonly marked: Reflector<KubeObject>;
  /** Of other writers, only as outlines of what they deliver: a hub may have ten times as many of them as ours. */
  readonly others: Reflector<KubeObject>;
}

/** Both have the index `delivers`; ours also have the index `app`. */
export function reflectWorks(
  from: Reflecting,
  works: Resource,
  how: {
    readonly deliveredBy: (work: KubeObject) => readonly ObjectRef[];
    readonly outlineOf: (work: KubeObject) => KubeObject;
    readonly foreignOutline: (work: KubeObject) => KubeObject;
    /** Texts that the outline of ours drops: they are not even parsed. */
    readonly unwanted?: ReflectorOptions["unwanted"];
  },
): WorkReflectors {
  const delivers = (work: KubeObject) => how.deliveredBy(work).map(refKey);
  const isMarked = ({ metadata }: KubeObject) => metadata.labels?.[MARKS.app] !== undefined;
  const marked = reflect(from, works, {
    selection: { labelSelector: MARKS.app },
    selects: isMarked,
    indexes: { app: (work) => [markOf(work)], delivers },
    transform: how.outlineOf,
    ...(how.unwanted && { unwanted: how.unwanted }),
  });
  const others = reflect(from, works, {
    selection: { labelSelector: `!${MARKS.app}` },
    selects: (work) => !isMarked(work),
    indexes: { delivers },
    transform: how.foreignOutline,
  });
  return { marked, others };
}
