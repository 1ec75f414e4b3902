import {
  ForbiddenError,
  InvalidObjectError,
  type KubeClient,
  type KubeObject,
  NotFoundError,
  type Resource,
  shortName,
  UnknownKindError,
} from "../../kube/index.ts";
import { type Clock, canonicalText, isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { appMark, refKey, refOf, uidPrecondition } from "../dispatch-objects.ts";
import { MARKS } from "../marks.ts";
import type { Division, DivisionRequest, Divisions, EngineBundle, ObjectRef } from "../port.ts";
import type { Holds } from "./holds.ts";
import { type Held, heldTemplates, readSchedule } from "./hub.ts";
import { PROPAGATION_POLICIES } from "./resources.ts";
import { policyOf, unsafeSetting } from "./settings.ts";

/** Karmada's kinds, Lockstep's and rights: what the controller may write of these is not for tenants. */
const OWN_GROUPS = /(^|\.)karmada\.io\/|^rbac\.authorization\.k8s\.io\//;
const FIELD_MANAGER = "lockstep";
/** What Karmada still does not show after this is written again: another writer may have changed it. */
const REPAIR_MS = 30_000;
const POLICY_MARK = "propagationpolicy.karmada.io/name";

interface DividerParts {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly holds: Holds;
  /** The owner's holds, as the cache shows them. */
  readonly holdsOf: (mark: string) => readonly KubeObject[];
  readonly binding: (template: ObjectRef) => KubeObject | undefined;
}

/** A workload's copy in the application's own namespace, and what goes with it. */
interface Copy {
  readonly held: Held;
  readonly object: KubeObject;
  readonly policy: KubeObject;
  /** Of object and policy. */
  readonly content: string;
  readonly request: DivisionRequest;
}

/**
 * Replicas that Karmada's own scheduler divides. A copy of the workload is on the hub, with a policy that divides it
 * over the clusters, and a hold, so that Karmada schedules it and delivers it nowhere. The hold is the first to come and
 * the last to go: it is also the record of what there is.
 */
export class Divider {
  readonly #parts: DividerParts;
  readonly #written = new Map<string, { readonly content: string; readonly held: Held; readonly atMs: number }>();

  constructor(parts: DividerParts) {
    this.#parts = parts;
  }

  async divide(
    owner: EngineBundle,
    requests: readonly DivisionRequest[],
    beforeWriting: () => Promise<void>,
  ): Promise<Divisions> {
    const copies = requests.map((request) => copyOf(owner, request));
    const isTidy = await this.#removeOthers(owner, copies, beforeWriting);
    const schedules: Division[] = [];
    for (const copy of copies) schedules.push(await this.#ask(copy, beforeWriting));
    return { schedules, isTidy };
  }

  async #ask(copy: Copy, beforeWriting: () => Promise<void>): Promise<Division> {
    const { clock, holds, binding } = this.#parts;
    const { template } = copy.held;
    const key = refKey(template);
    const before = this.#written.get(key);
    const now = clock.monotonicMs();
    const division = readDivision(binding(template), copy);
    const isLate = division.kind === "unknown" && before !== undefined && now - before.atMs >= REPAIR_MS;
    const isWritten = before?.content === copy.content && !isLate;
    // Holds are recognized by the object that they were written for.
    const held = before?.held ?? copy.held;
    if (!isWritten) await beforeWriting();
    let of: Resource | undefined;
    try {
      of = isWritten ? undefined : await this.#kindToCopy(template);
      // What may not be copied gets no hold, which could not be given up without the right to look.
      const found = of && (await this.#find(of, copy));
      await holds.ensure(held, beforeWriting);
      if (!of) return division;
      const isClaimed = isLate && claimant(binding(template), copy) !== undefined;
      await this.#write(of, copy, found, isClaimed);
      this.#written.set(key, { content: copy.content, held, atMs: now });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const remedy = error instanceof ForbiddenError && of ? remedyFor(of) : undefined;
      const what = `${template.kind} ${template.namespace}/${template.name}`;
      return { kind: "unknown", message: `${what}: ${error.message}`, ...(remedy !== undefined && { remedy }) };
    }
    return readDivision(binding(template), copy);
  }

  /** The policy first: a copy without one could be claimed by another. One that was claimed is recreated. */
  async #write(
    of: Resource,
    { object, policy }: Copy,
    found: KubeObject | undefined,
    isClaimed: boolean,
  ): Promise<void> {
    const { hub } = this.#parts;
    await hub.apply(PROPAGATION_POLICIES, policy, { fieldManager: FIELD_MANAGER, force: true });
    if (found && isClaimed) await hub.delete(of, found.metadata, uidPrecondition(found));
    try {
      await hub.apply(of, object, { fieldManager: FIELD_MANAGER, force: true });
    } catch (error) {
      // A field that cannot be changed: the next copy has it.
      if (found && error instanceof InvalidObjectError) await hub.delete(of, found.metadata, uidPrecondition(found));
      throw error;
    }
  }

  async #find(of: Resource, { object, policy, held }: Copy): Promise<KubeObject | undefined> {
    const { hub } = this.#parts;
    await hub.find(PROPAGATION_POLICIES, policy.metadata);
    const found = await hub.find(of, object.metadata);
    if (!found || isOf(found, held)) return found;
    throw new NotCopiedError("an object of this name exists that Lockstep did not make; delete it");
  }

  async #kindToCopy({ apiVersion, kind }: ObjectRef): Promise<Resource> {
    const of = await this.#parts.hub.discovery.resource(apiVersion, kind);
    if (!of.namespaced || OWN_GROUPS.test(apiVersion)) throw new NotCopiedError("its kind has no replicas to divide");
    return of;
  }

  async #removeOthers(
    owner: EngineBundle,
    copies: readonly Copy[],
    beforeWriting: () => Promise<void>,
  ): Promise<boolean> {
    const { namespace, name, kind } = owner;
    const wanted = new Set(copies.map(({ held }) => refKey(held.template)));
    let isTidy = true;
    for (const hold of this.#parts.holdsOf(appMark(owner))) {
      const [template] = heldTemplates(hold);
      if (!template || wanted.has(refKey(template))) continue;
      await beforeWriting();
      if (!(await this.#remove({ kind, namespace, name, template }))) isTidy = false;
    }
    return isTidy;
  }

  /** The copy, then its policy, and the hold only when Karmada has nothing left to deliver. */
  async #remove(held: Held): Promise<boolean> {
    const { holds, binding } = this.#parts;
    const { template } = held;
    this.#written.delete(refKey(template));
    const copy = await this.#delete(await this.#kindOf(template), held);
    const policy = await this.#delete(PROPAGATION_POLICIES, held);
    if (copy === "going" || policy === "going") return false;
    if (copy === "gone" && binding(template) !== undefined) return false;
    return (await holds.giveUp(held, copy === "foreign")).kind === "gone" || copy === "foreign";
  }

  async #delete(of: Resource | undefined, held: Held): Promise<"gone" | "going" | "foreign"> {
    const { hub } = this.#parts;
    if (!of) return "gone";
    const { namespace, name } = held.template;
    const found = await hub.find(of, { namespace, name });
    if (!found) return "gone";
    if (!isOf(found, held)) return "foreign";
    try {
      await hub.delete(of, found.metadata, uidPrecondition(found));
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    return "going";
  }

  async #kindOf({ apiVersion, kind }: ObjectRef): Promise<Resource | undefined> {
    try {
      return await this.#parts.hub.discovery.resource(apiVersion, kind);
    } catch (error) {
      if (error instanceof UnknownKindError) return undefined;
      throw error;
    }
  }
}

/** Thrown when no copy can be made of the workload. */
class NotCopiedError extends Error {
  override readonly name = "NotCopiedError";
}

/** What a user must mend; anything else is tried again at once. */
function isRefusal(error: unknown): error is Error {
  return [ForbiddenError, InvalidObjectError, NotCopiedError, UnknownKindError].some((kind) => error instanceof kind);
}

function remedyFor({ apiVersion, plural }: Resource): string {
  const [group] = apiVersion.split("/");
  return `Let Lockstep make the copy: lockstep install --apply --divide ${plural}.${group}, with the options that you installed with.`;
}

function isOf({ metadata }: KubeObject, held: Held): boolean {
  return metadata.labels?.[MARKS.app] === appMark(held);
}

function copyOf(owner: EngineBundle, request: DivisionRequest): Copy {
  const { kind, namespace, name } = owner;
  const { workload, replicas, clusters, isAggregated } = request;
  const of = refOf(workload);
  const identity = [kind, namespace, name, of.apiVersion, of.kind, of.namespace, of.name].join("/");
  const template = { ...of, namespace, name: shortName(`${name}-${of.name}`, identity) };
  const held = { kind, namespace, name, template };
  const metadata = {
    namespace,
    name: template.name,
    labels: { [MARKS.app]: appMark(owner) },
    annotations: {
      [MARKS.appNamespace]: namespace,
      [MARKS.appName]: name,
      [MARKS.appKind]: kind,
      "lockstep.karmada.io/why": `Karmada's scheduler divides the replicas of ${of.kind} ${of.name} by this copy. It is held, and runs nowhere.`,
    },
  };
  const spec = isJsonObject(workload.spec) ? workload.spec : {};
  const object = { apiVersion: of.apiVersion, kind: of.kind, metadata, spec: { ...spec, replicas } };
  const selector = { apiVersion: of.apiVersion, kind: of.kind, namespace, name: template.name };
  const division = isAggregated
    ? { replicaDivisionPreference: "Aggregated" }
    : { replicaDivisionPreference: "Weighted", weightPreference: { dynamicWeight: "AvailableReplicas" } };
  const policy = {
    apiVersion: PROPAGATION_POLICIES.apiVersion,
    kind: PROPAGATION_POLICIES.kind,
    metadata,
    spec: {
      resourceSelectors: [selector],
      // Dependencies travel with each grant.
      propagateDeps: false,
      placement: {
        clusterAffinity: { clusterNames: [...clusters] },
        replicaScheduling: { replicaSchedulingType: "Divided", ...division },
      },
    },
  };
  return { held, object, policy, content: canonicalText({ object, policy }), request };
}

/** Karmada's decision, if it is one about this request: anything else is unknown. */
function readDivision(binding: KubeObject | undefined, copy: Copy): Division {
  const { held, request } = copy;
  const { template } = held;
  const what = `${template.kind} ${template.namespace}/${template.name}`;
  const unknown = (message: string, remedy?: string): Division => ({
    kind: "unknown",
    message,
    ...(remedy !== undefined && { remedy }),
  });
  if (!binding) return unknown(`Karmada's scheduler has not seen ${what} yet`);
  const unsafe = unsafeSetting(binding);
  if (unsafe) return unknown(unsafe.message, unsafe.remedy);
  const other = claimant(binding, copy);
  if (other !== undefined) return unknown(`${other} has claimed ${what}`);
  const { replicas, placement } = isJsonObject(binding.spec) ? binding.spec : {};
  if (!isPlacement(placement, request)) return unknown(`Karmada has not seen the latest clusters of ${what} yet`);
  if ((replicas ?? 0) !== request.replicas) {
    return unknown(`Karmada counts ${replicas ?? 0} replicas in ${what}, not ${request.replicas}`);
  }
  const schedule = readSchedule(binding, template);
  if (schedule.kind === "unknown") return unknown(schedule.message);
  const shares = Object.fromEntries(schedule.clusters.map((each) => [each.cluster, each.replicas]));
  const sum = schedule.clusters.reduce((all, each) => all + each.replicas, 0);
  if (sum !== request.replicas || Object.keys(shares).some((cluster) => !request.clusters.includes(cluster))) {
    return unknown(`Karmada has divided ${sum} of the ${request.replicas} replicas of ${what}`);
  }
  return { kind: "known", shares };
}

/** The policy that Karmada follows instead of Lockstep's own; undefined: none. */
function claimant(binding: KubeObject | undefined, { policy }: Copy): string | undefined {
  if (!binding) return undefined;
  const { [POLICY_MARK]: name } = { ...binding.metadata.labels, ...binding.metadata.annotations };
  return name === policy.metadata.name ? undefined : policyOf(binding).words;
}

function isPlacement(placement: unknown, { clusters, isAggregated }: DivisionRequest): boolean {
  const { clusterAffinity, replicaScheduling } = isJsonObject(placement) ? placement : ({} as JsonObject);
  const { clusterNames } = isJsonObject(clusterAffinity) ? clusterAffinity : ({} as JsonObject);
  const { replicaDivisionPreference } = isJsonObject(replicaScheduling) ? replicaScheduling : ({} as JsonObject);
  return (
    Array.isArray(clusterNames) &&
    clusterNames.length === clusters.length &&
    clusterNames.every((name) => clusters.includes(String(name))) &&
    replicaDivisionPreference === (isAggregated ? "Aggregated" : "Weighted")
  );
}
