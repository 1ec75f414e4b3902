import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { toOpenAPI } from "./kinds/build.ts";
import { CROSS_CLUSTER_STATEFULSET, type CrossClusterStatefulset } from "./kinds/cross-cluster-statefulset.ts";
import { type KindDefinition, objectSchema } from "./kinds/definition.ts";
import { type ExploreReview, exploreReview } from "./kinds/explore-review.ts";
import {
  RESOURCE_EXPLORING_WEBHOOK_CONFIGURATION,
  type ResourceExploringWebhookConfiguration,
} from "./kinds/exploring-webhook.ts";
import { CROSS_CLUSTER_LEDGER, type CrossClusterLedger } from "./kinds/ledger.ts";
import { FOREIGN_NAMESPACE_REMEDY } from "./kinds/policies.ts";
import { ROLLOUT_APPROVAL, type RolloutApproval } from "./kinds/rollout-approval.ts";
import { compileSchema } from "./schema/compile.ts";
import type { CompiledSchema, FieldError } from "./schema/types.ts";
import { wording } from "./schema/wording.ts";
import { cronProblem, isTimeZone } from "./windows.ts";

export type Parsed<T> = { ok: true; value: T } | { ok: false; errors: FieldError[] };

/** With every default in place, and in the namespace that is now certain. */
export type ParsedCrossClusterStatefulset = CrossClusterStatefulset & {
  metadata: { namespace: string };
  spec: { resourceSelector: { namespace: string } };
};

/**
 * The controller's own check. An API server with our CRDs and policy has refused most of this already; but objects may
 * be older than the rules, policies may be missing, and what neither sees (cron, time zones) is checked here alone.
 */
export function parseCrossClusterStatefulset(object: unknown): Parsed<ParsedCrossClusterStatefulset> {
  const parsed = parseCcs(object);
  if (!parsed.ok) return parsed;
  const { metadata, spec } = parsed.value;
  const namespace = metadata.namespace;
  const selected = spec.resourceSelector.namespace;
  const errors: FieldError[] = [];
  if (namespace === undefined) errors.push(wording.required("metadata.namespace"));
  else if (selected !== undefined && selected !== namespace) {
    errors.push(wording.invalid("spec.resourceSelector.namespace", selected, FOREIGN_NAMESPACE_REMEDY));
  }
  errors.push(...checkWindows(spec));
  if (errors.length > 0 || namespace === undefined) return { ok: false, errors };
  return {
    ok: true,
    value: {
      ...parsed.value,
      metadata: { ...metadata, namespace },
      spec: { ...spec, resourceSelector: { ...spec.resourceSelector, namespace } },
    },
  };
}

function checkWindows(spec: CrossClusterStatefulset["spec"]): FieldError[] {
  const path = "spec.updateStrategy.rollingUpdate.maintenanceWindows";
  return (spec.updateStrategy.rollingUpdate.maintenanceWindows ?? []).flatMap(({ cron, timeZone }, index) => {
    const problem = cronProblem(cron);
    return [
      ...(problem ? [wording.invalid(`${path}[${index}].cron`, cron, `${problem}; for example 0 2 * * *`)] : []),
      ...(isTimeZone(timeZone)
        ? []
        : [
            wording.invalid(
              `${path}[${index}].timeZone`,
              timeZone,
              "is not a time zone; for example UTC or Europe/Berlin",
            ),
          ]),
    ];
  });
}

const parseCcs = objectParser<CrossClusterStatefulset>(CROSS_CLUSTER_STATEFULSET);
export const parseRolloutApproval = objectParser<RolloutApproval>(ROLLOUT_APPROVAL);
export const parseCrossClusterLedger = objectParser<CrossClusterLedger>(CROSS_CLUSTER_LEDGER);
export const parseResourceExploringWebhookConfiguration = objectParser<ResourceExploringWebhookConfiguration>(
  RESOURCE_EXPLORING_WEBHOOK_CONFIGURATION,
);

/** `T` is the type of the definition's own schema, so that what passes it is a T. */
function objectParser<T>(definition: KindDefinition): (object: unknown) => Parsed<T> {
  const schema = once(() => compileSchema(objectSchema(definition)));
  const apiVersion = `${definition.group}/${definition.version}`;
  return (object) => {
    if (!isJsonObject(object)) return { ok: false, errors: [wording.invalidWhole("", "must be an object")] };
    const errors: FieldError[] = [];
    if (object.apiVersion !== apiVersion) {
      errors.push(wording.notSupported("apiVersion", object.apiVersion ?? null, [apiVersion]));
    }
    if (object.kind !== definition.kind)
      errors.push(wording.notSupported("kind", object.kind ?? null, [definition.kind]));
    const name = isJsonObject(object.metadata) ? object.metadata.name : undefined;
    if (typeof name !== "string" || name === "") errors.push(wording.required("metadata.name"));
    if (errors.length > 0) return { ok: false, errors };
    return settle<T>(schema(), object);
  };
}

/** A copy with unknown fields removed and defaults in place, if it is valid. */
function settle<T>(schema: CompiledSchema, object: JsonObject): Parsed<T> {
  const { status, ...declared } = object;
  const value = structuredClone(declared);
  schema.prune(value);
  schema.applyDefaults(value);
  const errors = schema.validate(value);
  if (errors.length > 0) return { ok: false, errors };
  // Status is a view that an older or newer version may have written; one that does not fit is as good as none.
  const withStatus: JsonObject = { ...value, status: structuredClone(status) };
  schema.prune(withStatus);
  const isStatusValid = status !== undefined && schema.validate(withStatus).length === 0;
  return { ok: true, value: (isStatusValid ? withStatus : value) as T };
}

const exploreReviewSchema = once(() => compileSchema(toOpenAPI(exploreReview)));

/** Reads what came over the wire; unknown fields are ignored. */
export function parseExploreReview(message: unknown): Parsed<ExploreReview> {
  if (!isJsonObject(message)) return { ok: false, errors: [wording.invalidWhole("", "must be an object")] };
  return settle<ExploreReview>(exploreReviewSchema(), message);
}

/** Compiling costs milliseconds, and most commands need no kind or one. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
