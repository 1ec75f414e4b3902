import type { KubeObject } from "../kube/index.ts";
import { appMark, isStatusOnly, objectsOf, refKey } from "./dispatch-objects.ts";
import { MARKS } from "./marks.ts";
import { type MemberStreams, streamKindsOf } from "./members/streams.ts";
import type { EngineOwner, News, ObjectRef } from "./port.ts";

export interface Tracked {
  readonly app: EngineOwner;
  readonly changed: (news: News) => void;
}

/** The owners whose objects are watched, and which of them a change concerns. The same for every engine. */
export class Tracking {
  readonly #streams: () => Pick<MemberStreams, "wantKind" | "unwantKind">;
  readonly #byMark = new Map<string, Tracked & { readonly mark: string }>();
  /** Owners by the objects that they manage. One owns an object; another may be releasing it, and is notified too. */
  readonly #byObject = new Map<string, Set<Tracked & { readonly mark: string }>>();

  /** `streams` is called when the first owner comes: streams tell of changes here, so they are made after this. */
  constructor(streams: () => Pick<MemberStreams, "wantKind" | "unwantKind">) {
    this.#streams = streams;
  }

  track(app: EngineOwner, changed: Tracked["changed"]): void {
    const mark = appMark(app);
    const previous = this.#byMark.get(mark);
    if (previous) this.untrack(previous.app);
    const tracked = { app, changed, mark };
    this.#byMark.set(mark, tracked);
    for (const ref of objectsOf(app)) {
      const key = refKey(ref);
      this.#byObject.set(key, (this.#byObject.get(key) ?? new Set()).add(tracked));
    }
    for (const kind of streamKindsOf(app)) this.#streams().wantKind(kind, app.namespace);
  }

  untrack(app: EngineOwner): void {
    const mark = appMark(app);
    const tracked = this.#byMark.get(mark);
    if (!tracked) return;
    this.#byMark.delete(mark);
    for (const ref of objectsOf(tracked.app)) {
      const others = this.#byObject.get(refKey(ref));
      others?.delete(tracked);
      if (others?.size === 0) this.#byObject.delete(refKey(ref));
    }
    for (const kind of streamKindsOf(tracked.app)) this.#streams().unwantKind(kind, tracked.app.namespace);
  }

  all(): Iterable<Tracked> {
    return this.#byMark.values();
  }

  /** The owner with this mark, if it is watched. */
  owner(mark: string): EngineOwner | undefined {
    return this.#byMark.get(mark)?.app;
  }

  /** The owner that a dispatch object is marked with, if it is watched. */
  ownerOf(work: KubeObject): EngineOwner | undefined {
    return this.owner(markOf(work));
  }

  /** Something of this owner has changed. */
  ownChanged(mark: string): void {
    this.#byMark.get(mark)?.changed("own");
  }

  /** An object in a member, or what is delivered of it, has changed. */
  objectChanged(ref: ObjectRef): void {
    for (const { changed } of this.#byObject.get(refKey(ref)) ?? []) changed("own");
  }

  /** Something that may affect every owner has changed. */
  allChanged(): void {
    for (const { changed } of this.#byMark.values()) changed("shared");
  }

  /** What a member's stream tells: without `ref`, any object may have changed. */
  streamChanged(ref: ObjectRef | undefined): void {
    if (ref) this.objectChanged(ref);
    else this.allChanged();
  }

  /** A marked dispatch object has changed: tells owners of what it delivers that it does not belong to. */
  rivalsChanged(work: KubeObject, delivered: readonly ObjectRef[]): void {
    for (const ref of delivered) {
      // It is of another application, or imitates one of ours.
      for (const { mark, changed } of this.#byObject.get(refKey(ref)) ?? []) if (mark !== markOf(work)) changed("own");
    }
  }

  /** How to follow dispatch objects of other writers: the owners of what they deliver get the news. */
  followingOthers(deliveredBy: (work: KubeObject) => readonly ObjectRef[]) {
    const told = (work: KubeObject) => {
      for (const ref of deliveredBy(work)) this.objectChanged(ref);
    };
    return {
      added: told,
      updated: (work: KubeObject, previous: KubeObject) => {
        if (isStatusOnly(work, previous)) return;
        told(previous);
        told(work);
      },
      deleted: told,
    };
  }
}

/** The mark of the owner that a dispatch object says it belongs to. */
export function markOf({ metadata }: KubeObject): string {
  return metadata.labels?.[MARKS.app] ?? "";
}
