import type { EngineApp } from "../../engine/index.ts";
import type { MemberManifest } from "../../render/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";

/**
 * What may travel beside a workload, in the application's own namespace, by API group. Users choose an export's
 * version.
 */
const SUPPORTING_KINDS: ReadonlyMap<string, string> = new Map([
  ["ConfigMap", ""],
  ["Secret", ""],
  ["ServiceAccount", ""],
  ["Service", ""],
  ["ServiceExport", "multicluster.x-k8s.io"],
]);

/** Thrown when a grant would carry an object that no grant may carry. */
export class ForeignObjectError extends Error {
  override readonly name = "ForeignObjectError";
  constructor(object: string, why: string) {
    super(`${object} is not dispatched: ${why}. Nothing of this grant is written`);
  }
}

/**
 * The last look at a grant before it is dispatched. Dispatch objects reach members with an administrator's rights, so
 * this does not trust what comes before it: templates, revisions, customizations and override policies are tenants'.
 */
export function refuseForeign({ namespace, template }: EngineApp, manifests: readonly MemberManifest[]): void {
  for (const { object, role } of manifests) {
    const { apiVersion, kind } = object;
    const title = titleOf(object);
    const { namespace: where, name } = isJsonObject(object.metadata) ? object.metadata : {};
    if (where !== namespace) throw new ForeignObjectError(title, `a grant writes to namespace ${namespace} only`);
    if (role === "workload") {
      if (apiVersion !== template.apiVersion || kind !== template.kind || name !== template.name) {
        const own = `${template.apiVersion} ${template.kind} ${template.namespace}/${template.name}`;
        throw new ForeignObjectError(title, `the application's workload is ${own}`);
      }
    } else if (SUPPORTING_KINDS.get(String(kind)) !== groupOf(String(apiVersion))) {
      const kinds = [...SUPPORTING_KINDS.keys()].join(", ");
      throw new ForeignObjectError(title, `beside its workload an application carries only ${kinds}`);
    }
  }
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

function titleOf({ apiVersion, kind, metadata }: JsonObject): string {
  const { namespace, name } = isJsonObject(metadata) ? metadata : {};
  return `${apiVersion} ${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}
