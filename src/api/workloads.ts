/**
 * A kind that may be a template, in addition to StatefulSets, as `install --workload` and `controller --workload` name
 * it.
 */
export interface Workload {
  readonly plural: string;
  readonly group: string;
  /** Only if it cannot be derived from the plural by English grammar. */
  readonly kind?: string;
}

const WORKLOAD = /^([a-z0-9]+(?:-[a-z0-9]+)*)\.([a-z0-9]([-a-z0-9.]*[a-z0-9])?)(?:=([A-Za-z][A-Za-z0-9]*))?$/;

/** Reads PLURAL.GROUP or PLURAL.GROUP=Kind; undefined for anything else. */
export function readWorkload(text: string): Workload | undefined {
  const [, plural, group, , kind] = WORKLOAD.exec(text) ?? [];
  if (plural === undefined || group === undefined) return undefined;
  return { plural, group, ...(kind !== undefined && { kind }) };
}

export function workloadText({ plural, group, kind }: Workload): string {
  return `${plural}.${group}${kind === undefined ? "" : `=${kind}`}`;
}

/**
 * The `group/kind` pairs that a workload may refer to, the kind in lower case. Admission sees a kind and cannot look up
 * its plural, so every singular that the plural can belong to counts.
 */
export function kindsOf({ plural, group, kind }: Workload): string[] {
  const kinds = kind === undefined ? singulars(plural) : [kind.toLowerCase()];
  return kinds.map((each) => `${group}/${each}`);
}

function singulars(plural: string): string[] {
  const found = [plural];
  if (plural.endsWith("s")) found.push(plural.slice(0, -1));
  if (/(?:s|x|z|ch|sh)es$/.test(plural)) found.push(plural.slice(0, -2));
  if (plural.endsWith("ies")) found.push(`${plural.slice(0, -3)}y`);
  return found;
}

/** StatefulSet may always be a template, because Kubernetes defines its count and identity. */
export const STATEFULSET_WORKLOAD: Workload = { plural: "statefulsets", group: "apps", kind: "StatefulSet" };

/** Job may always be the template of a CrossClusterJob, because Kubernetes defines its end. */
export const JOB_WORKLOAD: Workload = { plural: "jobs", group: "batch", kind: "Job" };
