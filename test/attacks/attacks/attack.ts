/** What an attack is, and where on the hub they are tried. */
import type { EngineName } from "../../../src/api/index.ts";
import type { JsonObject } from "../../../src/runtime/index.ts";
import { type Answer, type Ask, type Person, SHOP } from "../ground.ts";
import { crossCluster } from "../objects.ts";

/** What the running application has on the hub: the paths of what the controller made for it. */
export interface Targets {
  /** Empty on a hub that has none. */
  readonly hold: string;
  /** What delivers it to member1. */
  readonly work: string;
  /** The readable copy in shop. */
  readonly revision: string;
}

export interface Attack {
  readonly name: string;
  readonly by: Person;
  readonly attempt: (ask: Ask, targets: Targets) => Promise<Answer>;
  /** Part of what the person reads. */
  readonly refused: string;
  /** The admission policy that refuses it; absent: the person has no right to, or Karmada itself refuses it. */
  readonly policy?: string;
  /** What the embedded server has no notion of. */
  readonly realOnly?: true;
  /** Absent: on every hub. */
  readonly on?: EngineName;
}

export const APPS = "/apis/apps.karmada.io/v1alpha1/namespaces";
export const STATEFULSETS = `${APPS}/${SHOP}/crossclusterstatefulsets`;
export const APPROVALS = `${APPS}/${SHOP}/rolloutapprovals`;
export const WORKS = (namespace: string) => `/apis/work.karmada.io/v1alpha1/namespaces/${namespace}/works`;
export const MANIFEST_WORKS = (namespace: string) =>
  `/apis/work.open-cluster-management.io/v1/namespaces/${namespace}/manifestworks`;
export const HOLDS = `/apis/policy.karmada.io/v1alpha1/namespaces/${SHOP}/overridepolicies`;
export const REVISIONS = `/apis/apps/v1/namespaces/${SHOP}/controllerrevisions`;
/** A member's API server, through the hub. */
export const MEMBER = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy/api/v1";

/** An application whose template is of this kind. */
export const template = (kind: string, apiVersion: string) =>
  crossCluster("attack", { resourceSelector: { apiVersion, kind, name: "attack" } });

/** An application that carries this object inline; merged into a spec, it replaces the selector. */
export const inline = (object: JsonObject): JsonObject => ({ resourceSelector: null, template: object });
