/** Holds as programs beside the controller see them: whose they are, and whether they are nothing but holds. */
import type { KubeObject } from "../../kube/index.ts";
import { appMark } from "../dispatch-objects.ts";
import { MARKS } from "../marks.ts";
import type { ObjectRef } from "../port.ts";
import { type Held, heldTemplates, holdName, isPlainHold } from "./hub.ts";
import { PROTECTION } from "./resources.ts";

export interface ReadHold {
  /** What it was written for; without a kind, a CrossClusterStatefulset. */
  readonly app: Pick<Held, "kind" | "namespace" | "name">;
  readonly templates: readonly ObjectRef[];
  /** It has the name and the content that Lockstep gives to this application's hold, and no other writer's additions. */
  readonly isPlain: boolean;
}

/** Undefined: it is no application's hold. The standing hold of `install` has no application. */
export function readHold(policy: KubeObject): ReadHold | undefined {
  const { annotations, name: policyName } = policy.metadata;
  const [namespace, name] = [annotations?.[MARKS.appNamespace], annotations?.[MARKS.appName]];
  const templates = heldTemplates(policy);
  const [template] = templates;
  if (namespace === undefined || name === undefined || template === undefined) return undefined;
  const kind = annotations?.[MARKS.appKind];
  if (kind !== undefined && kind !== "DistributedApplication") return undefined;
  const app: ReadHold["app"] = kind === undefined ? { namespace, name } : { kind, namespace, name };
  const held: Held = { ...app, template };
  const mark = appMark(app);
  const isOwn = holdName(held, mark).name === policyName && policy.metadata.labels?.[MARKS.app] === mark;
  return { app, templates, isPlain: isOwn && isPlainHold(policy, held) };
}

/** The policy as Karmada lets it be deleted; undefined if it does so already. */
export function unprotectedHold(policy: KubeObject): KubeObject | undefined {
  const { labels = {} } = policy.metadata;
  const others = Object.fromEntries(Object.entries(labels).filter(([key]) => !(key in PROTECTION)));
  if (Object.keys(others).length === Object.keys(labels).length) return undefined;
  return { ...policy, metadata: { ...policy.metadata, labels: others } };
}
