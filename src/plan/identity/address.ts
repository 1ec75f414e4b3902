import type { ClusterName, LedgerIdentity } from "../types/index.ts";

/** The Multi-Cluster Services name of one instance behind a headless Service. */
export const MCS_ADDRESS_TEMPLATE = "{instance}.{cluster}.{service}.{namespace}.svc.clusterset.local";

/** RFC 1035: one label of a name. */
const LABEL_MAX_CHARACTERS = 63;
/** RFC 1035, as Kubernetes applies it: a whole name. */
const NAME_MAX_CHARACTERS = 253;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
/** A whole name with all of these right; what is wrong with one is looked for only when it does not fit. */
const NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)*$/;
const PLACEHOLDER = /\{([^{}]*)\}/g;

export interface AddressParts {
  readonly instance: string;
  readonly ordinal: number;
  /** The cluster's id in the network's names. */
  readonly clusterId: string;
}

/** Writes the addresses of an application's instances; the template is read once for all of them. */
export function addressesOf({ addressTemplate, app }: LedgerIdentity): (parts: AddressParts) => string {
  // Texts of the template in turn with names of placeholders.
  const template = addressTemplate.split(PLACEHOLDER);
  return ({ instance, ordinal, clusterId }) => {
    let text = "";
    for (let i = 0; i < template.length; i++) {
      const part = template[i] ?? "";
      if (i % 2 === 0) text += part;
      else if (part === "instance") text += instance;
      else if (part === "ordinal") text += ordinal;
      else if (part === "cluster") text += clusterId;
      else if (part === "service") text += app.service;
      else if (part === "namespace") text += app.namespace;
      else text += `{${part}}`;
    }
    return text;
  };
}

/** What is wrong with an address, or undefined. A port at the end is allowed; it is no part of the name. */
export function addressProblem(text: string): string | undefined {
  if (text.length <= NAME_MAX_CHARACTERS && NAME.test(text)) return undefined;
  const left = /\{[^{}]*\}/.exec(text);
  if (left) return `unknown placeholder ${left[0]}; known are {instance} {ordinal} {cluster} {service} {namespace}`;
  const name = text.replace(/:\d+$/, "");
  if (name.length > NAME_MAX_CHARACTERS)
    return `${name.length} characters; a DNS name has at most ${NAME_MAX_CHARACTERS}`;
  for (const label of name.split(".")) {
    if (label.length > LABEL_MAX_CHARACTERS) {
      return `label '${label}' has ${label.length} characters; a DNS label has at most ${LABEL_MAX_CHARACTERS}`;
    }
    if (!LABEL.test(label)) return `label '${label}' is not a DNS label (lower case letters, digits and '-')`;
  }
  return undefined;
}

/** The cluster's id: the map's, or its own name. */
export function clusterIdOf(clusterIds: Readonly<Record<ClusterName, string>>, cluster: ClusterName): string {
  return Object.hasOwn(clusterIds, cluster) ? (clusterIds[cluster] ?? cluster) : cluster;
}
