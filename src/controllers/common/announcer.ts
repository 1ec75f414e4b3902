import type { KubeObject } from "../../kube/index.ts";

/** Where Events go. Never waits, never throws. */
export interface Announcer {
  event(object: KubeObject, type: "Normal" | "Warning", reason: string, message: string): void;
}
