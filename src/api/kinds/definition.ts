import type { TSchema } from "typebox";
import type { JsonObject } from "../../runtime/index.ts";
import { toOpenAPI } from "./build.ts";

/** Everything that defines one kind's CustomResourceDefinition. */
export interface KindDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly scope: "Namespaced" | "Cluster";
  /** The kind's own fields (spec, status ...); apiVersion, kind and metadata are added. */
  readonly schema: TSchema;
  readonly hasStatus: boolean;
  readonly scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
  readonly columns: readonly PrinterColumn[];
}

export interface PrinterColumn {
  name: string;
  readonly type: "string" | "integer" | "date" | "boolean";
  readonly jsonPath: string;
  readonly description: string;
  /** 0: always shown. 1: only with `-o wide`. */
  readonly priority?: 0 | 1;
}

/** The schema of the whole object, as in the CRD. */
export function objectSchema(definition: KindDefinition): JsonObject {
  const own = toOpenAPI(definition.schema);
  return {
    ...own,
    properties: {
      apiVersion: { type: "string", description: `Always ${definition.group}/${definition.version}.` },
      kind: { type: "string", description: `Always ${definition.kind}.` },
      metadata: { type: "object" },
      ...(own.properties as JsonObject | undefined),
    },
  };
}

export function crdManifest(definition: KindDefinition): JsonObject {
  const { group, version, kind, plural, singular, shortNames, scope, hasStatus, scale, columns } = definition;
  const subresources: JsonObject = { ...(hasStatus && { status: {} }), ...(scale && { scale: { ...scale } }) };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, labels: { "app.kubernetes.io/part-of": "lockstep" } },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular, ...(shortNames && { shortNames: [...shortNames] }) },
      scope,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...(Object.keys(subresources).length > 0 && { subresources }),
          additionalPrinterColumns: columns.map((column) => ({ ...column })),
          schema: { openAPIV3Schema: objectSchema(definition) },
        },
      ],
    },
  };
}

export const AGE_COLUMN: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since the object was created.",
};
