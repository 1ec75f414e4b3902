import type { WriteContext } from "./core.ts";
import type { Store } from "./store.ts";
import type { KubeObject } from "./types.ts";

export class Admission {
  constructor(_store: Store) {}

  admit(_write: WriteContext, _object: KubeObject, _old: KubeObject | undefined): void {}
}
