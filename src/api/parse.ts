import { cronProblem, isTimeZone } from "../rollout/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { inlineTemplateErrors, selectedWorkload } from "./inline-template.ts";
import { toOpenAPI } from "./kinds/build.ts";
import { CROSS_CLUSTER_STATEFULSET, type CrossClusterStatefulset } from "./kinds/cross-cluster-statefulset.ts";
import { type KindDefinition, objectSchema } from "./kinds/definition.ts";
import { DISTRIBUTED_APPLICATION, type DistributedApplication } from "./kinds/distributed-application.ts";
import { type ExploreReview, exploreReview } from "./kinds/explore-review.ts";
import {
  RESOURCE_EXPLORING_WEBHOOK_CONFIGURATION,
  type ResourceExploringWebhookConfiguration,
} from "./kinds/exploring-webhook.ts";
import { CROSS_CLUSTER_LEDGER, type CrossClusterLedger } from "./kinds/ledger.ts";
import { ROLLOUT_APPROVAL, type RolloutApproval } from "./kinds/rollout-approval.ts";
import { FOREIGN_NAMESPACE_REMEDY } from "./policies/selector.ts";
import { compileSchema } from "./schema/compile.ts";
import type { CompiledSchema, FieldError } from "./schema/types.ts";
import { wording } from "./schema/wording.ts";

export type Parsed<T> = { ok: true; value: T } | { ok: false; errors: FieldError[] };

/**
 * With every default set, and the namespace always present. `resourceSelector` always says what runs: with an inline
 * `template` it names that, and no object on the hub.
 */
export type ParsedCrossClusterStatefulset = CrossClusterStatefulset & {
  metadata: { namespace: string };
  spec: { resourceSelector: { namespace: string } };
};

/**
 * The controller's own check. An API server with our CRDs and policies has already refused most invalid objects. But
 * objects may be older than the rules, policies may be missing, and only this check covers cron expressions and time
 * zones.
 */
export function parseCrossClusterStatefulset(object: unknown): Parsed<ParsedCrossClusterStatefulset> {
  const parsed = parseCcs(object);
  if (!parsed.ok) return parsed;
  const { metadata, spec } = parsed.value;
  const { namespace } = metadata;
  const errors: FieldError[] = [];
  if (namespace === undefined) errors.push(wording.required("metadata.namespace"));
  else errors.push(...checkTemplate(spec, namespace));
  errors.push(...checkWindows(spec));
  const selector = selectorOf(parsed.value);
  if (errors.length > 0 || namespace === undefined || !selector) return { ok: false, errors };
  return {
    ok: true,
    value: {
      ...parsed.value,
      metadata: { ...metadata, namespace },
      spec: { ...spec, resourceSelector: { ...selector, namespace } },
    },
  };
}

/** With every default set, and both namespaces always present. */
export type ParsedDistributedApplication = DistributedApplication & {
  metadata: { namespace: string };
  spec: { targetNamespace: string };
};

export function parseDistributedApplication(object: unknown): Parsed<ParsedDistributedApplication> {
  const parsed = parseDapp(object);
  if (!parsed.ok) return parsed;
  const { metadata, spec } = parsed.value;
  const { namespace } = metadata;
  const errors = windowErrors("spec.rollout.maintenanceWindows", spec.rollout.maintenanceWindows);
  if (namespace === undefined) errors.push(wording.required("metadata.namespace"));
  if (errors.length > 0 || namespace === undefined) return { ok: false, errors };
  const targetNamespace = spec.targetNamespace ?? namespace;
  return {
    ok: true,
    value: { ...parsed.value, metadata: { ...metadata, namespace }, spec: { ...spec, targetNamespace } },
  };
}

function selectorOf({ metadata, spec }: CrossClusterStatefulset): CrossClusterStatefulset["spec"]["resourceSelector"] {
  if (spec.template === undefined) return spec.resourceSelector;
  const { template } = spec;
  const selected = selectedWorkload({ metadata, spec: { template } });
  return selected && { apiVersion: selected.apiVersion, kind: selected.kind, name: selected.name ?? metadata.name };
}

function checkTemplate(
  { resourceSelector, template }: CrossClusterStatefulset["spec"],
  namespace: string,
): FieldError[] {
  if (template !== undefined) return inlineTemplateErrors(template, namespace);
  const selected = resourceSelector?.namespace;
  if (selected === undefined || selected === namespace) return [];
  return [wording.invalid("spec.resourceSelector.namespace", selected, FOREIGN_NAMESPACE_REMEDY)];
}

function checkWindows({ updateStrategy }: CrossClusterStatefulset["spec"]): FieldError[] {
  const path = "spec.updateStrategy.rollingUpdate.maintenanceWindows";
  return windowErrors(path, updateStrategy.rollingUpdate.maintenanceWindows);
}

function windowErrors(
  path: string,
  windows: readonly { readonly cron: string; readonly timeZone: string }[] = [],
): FieldError[] {
  return windows.flatMap(({ cron, timeZone }, index) => {
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
const parseDapp = objectParser<DistributedApplication>(DISTRIBUTED_APPLICATION);
export const parseRolloutApproval = objectParser<RolloutApproval>(ROLLOUT_APPROVAL);
export const parseCrossClusterLedger = objectParser<CrossClusterLedger>(CROSS_CLUSTER_LEDGER);
export const parseResourceExploringWebhookConfiguration = objectParser<ResourceExploringWebhookConfiguration>(
  RESOURCE_EXPLORING_WEBHOOK_CONFIGURATION,
);

/** `T` is the type of the definition's own schema, so a value that passes is a T. */
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

/** A copy without unknown fields and with defaults, if it is valid. */
function settle<T>(schema: CompiledSchema, object: JsonObject): Parsed<T> {
  const { status, ...declared } = object;
  const value = structuredClone(declared);
  schema.prune(value);
  schema.applyDefaults(value);
  const errors = schema.validate(value);
  if (errors.length > 0) return { ok: false, errors };
  // Status is a view that an older or newer version may have written; an invalid one is treated as absent.
  const withStatus: JsonObject = { ...value, status: structuredClone(status) };
  schema.prune(withStatus);
  const isStatusValid = status !== undefined && schema.validate(withStatus).length === 0;
  return { ok: true, value: (isStatusValid ? withStatus : value) as T };
}

const exploreReviewSchema = once(() => compileSchema(toOpenAPI(exploreReview)));

/** Reads a message from the wire; unknown fields are ignored. */
export function parseExploreReview(message: unknown): Parsed<ExploreReview> {
  if (!isJsonObject(message)) return { ok: false, errors: [wording.invalidWhole("", "must be an object")] };
  return settle<ExploreReview>(exploreReviewSchema(), message);
}

/** Compiling takes milliseconds, and most commands need one kind or none. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
