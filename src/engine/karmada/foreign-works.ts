import type { Cache, KubeClient, KubeObject } from "../../kube/index.ts";
import type { Clock } from "../../runtime/index.ts";
import { appMark, carriedBy, manifestOf, refKey, uidPrecondition, workName } from "../dispatch-objects.ts";
import { MARKS } from "../marks.ts";
import type { EngineApp, ObjectRef } from "../port.ts";
import { waitUntil } from "../wait.ts";
import { BINDING_ID, clusterOfNamespace, executionNamespace, WORKS } from "./resources.ts";

export interface ForeignWorksOptions {
  readonly hub: KubeClient;
  /** Works without our label, as outlines; found by the index `delivers`. */
  readonly unlabelled: Cache<KubeObject>;
  /** Works with our label, including those of other applications and imitations by other writers. */
  readonly labelled: Cache<KubeObject>;
  readonly clock: Clock;
}

/** Karmada ends a Work within a second; not while its cluster is away. */
const ENDING_MS = 10_000;

/** Thrown when a Work is still there that must be gone before ours may carry its object. It is looked at again. */
export class EndingAwaitedError extends Error {
  override readonly name = "EndingAwaitedError";

  constructor({ metadata: { namespace, name } }: KubeObject) {
    super(
      `Work ${namespace}/${name} is deleted, and Karmada has not ended it yet; until then Karmada may still write what it carries`,
    );
  }
}

/** What other writers' Works mean for an application whose object they carry. */
export interface Foreign {
  /** The clusters for which Karmada itself rendered the template before the hold: they will be adopted. */
  readonly rendered: readonly string[];
  /** Works that deliver the object in addition to our own Works. */
  readonly rivals: readonly KubeObject[];
}

/**
 * Works that are not ours and carry an object that we manage. Karmada renders some when the hold is defeated; users and
 * programs write others. They are delivered in no order, so nothing may be granted while one exists.
 */
export class ForeignWorks {
  readonly #options: ForeignWorksOptions;
  /** For each template, the versions that the last request to the server was based on. */
  readonly #askedFor = new Map<string, string>();
  /** Rivals that the server was seen to have in exactly this version. */
  readonly #confirmed = new WeakSet<KubeObject>();
  /** The identifiers of each application's own Works; cached, because they are hashes. */
  readonly #ownNames = new WeakMap<EngineApp, { readonly mark: string; readonly work: string }>();

  constructor(options: ForeignWorksOptions) {
    this.#options = options;
  }

  /**
   * `bindingId` is Karmada's mark on what it rendered for the template. The watch may be behind. So whenever the
   * versions that the answer is based on (the hold, the schedule) change, Karmada's Works are listed, and a rival is
   * read before it is named.
   */
  async look(app: EngineApp, bindingId: string | undefined, restsOn: string): Promise<Foreign> {
    const template = refKey(app.template);
    if (bindingId !== undefined && this.#askedFor.get(template) !== restsOn) {
      for (const work of await this.rendered(bindingId)) this.#options.unlabelled.wrote(work);
      this.#askedFor.set(template, restsOn);
    }
    const unconfirmed = this.#sorted(app, bindingId).rivals.filter((work) => !this.#confirmed.has(work));
    await Promise.all(unconfirmed.map((work) => this.#confirm(work)));
    return this.#sorted(app, bindingId);
  }

  /** Those that carry the application's object to this cluster, as far as this process has seen. */
  in(app: EngineApp, cluster: string): KubeObject[] {
    const namespace = executionNamespace(cluster);
    return this.#carrying(app).filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** From the server: what Karmada rendered for a binding, in one cluster or in all. */
  async rendered(bindingId: string, namespace?: string): Promise<KubeObject[]> {
    const { hub } = this.#options;
    const works = await hub.listAll(WORKS, { namespace, labelSelector: `${BINDING_ID}=${bindingId}` });
    return works.items.filter((work) => work.metadata.labels?.[MARKS.app] === undefined);
  }

  /**
   * Deletes one of Karmada's own Works, keeps what it delivered, and waits until it is gone. While it ends, Karmada writes
   * its content once more, over ours if that were there already, and would not write ours again before it changes.
   */
  async end(work: KubeObject): Promise<void> {
    const { hub, unlabelled, clock } = this.#options;
    const body = {
      metadata: { annotations: { [MARKS.adopted]: "true" } },
      spec: { preserveResourcesOnDeletion: true },
    };
    const kept = await hub.patch(WORKS, work.metadata, { type: "merge", body });
    const left = await hub.delete(WORKS, kept.metadata, uidPrecondition(kept));
    if (left) unlabelled.wrote(left);
    else unlabelled.deleted(kept);
    const isGone = (now: KubeObject | undefined) => now === undefined || now.metadata.uid !== kept.metadata.uid;
    if (!(await waitUntil(unlabelled, kept.metadata, isGone, clock, ENDING_MS))) throw new EndingAwaitedError(kept);
  }

  /** The server is asked again, regardless of what was seen. */
  forget(template: ObjectRef): void {
    this.#askedFor.delete(refKey(template));
  }

  async #confirm(work: KubeObject): Promise<void> {
    const { hub, unlabelled, labelled } = this.#options;
    const cache = work.metadata.labels?.[MARKS.app] === undefined ? unlabelled : labelled;
    const now = await hub.find(WORKS, work.metadata);
    if (now) cache.wrote(now);
    else cache.deleted(work);
    const kept = cache.get(work.metadata);
    if (kept) this.#confirmed.add(kept);
  }

  #sorted(app: EngineApp, bindingId: string | undefined): Foreign {
    const rendered: string[] = [];
    const rivals: KubeObject[] = [];
    for (const work of this.#carrying(app)) {
      const cluster = clusterOfNamespace(work.metadata.namespace ?? "");
      if (cluster === undefined) continue;
      const isKarmadas = bindingId !== undefined && work.metadata.labels?.[BINDING_ID] === bindingId;
      if (isKarmadas && !this.#isDispatched(app, cluster)) rendered.push(cluster);
      else rivals.push(work);
    }
    return { rendered, rivals };
  }

  /**
   * A Work that is being deleted counts until it is gone, because Karmada writes its content once more during the
   * deletion. Works that we ended ourselves do not count: we knew that they describe what runs.
   */
  #carrying(app: EngineApp): KubeObject[] {
    const { unlabelled, labelled } = this.#options;
    const key = refKey(app.template);
    const { mark, work: own } = this.#namesOf(app);
    // Ours is the one Work of this name; any user can write the label.
    const isOwn = ({ metadata }: KubeObject) => metadata.name === own && metadata.labels?.[MARKS.app] === mark;
    const others = labelled.byIndex("delivers", key).filter((work) => !isOwn(work));
    return [...unlabelled.byIndex("delivers", key), ...others].filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined || metadata.annotations?.[MARKS.adopted] !== "true",
    );
  }

  #isDispatched(app: EngineApp, cluster: string): boolean {
    const name = { namespace: executionNamespace(cluster), name: this.#namesOf(app).work };
    const work = this.#options.labelled.get(name);
    return work !== undefined && manifestOf(work) !== undefined;
  }

  #namesOf(app: EngineApp): { readonly mark: string; readonly work: string } {
    const names = this.#ownNames.get(app) ?? { mark: appMark(app), work: workName(app, app.template) };
    this.#ownNames.set(app, names);
    return names;
  }
}

/** An outline of another writer's Work: where it is, what it carries, and its owner. */
export function foreignOutline(work: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = work;
  const { name, namespace = "", uid, resourceVersion, generation, deletionTimestamp } = metadata;
  const bindingId = metadata.labels?.[BINDING_ID];
  const isAdopted = metadata.annotations?.[MARKS.adopted] === "true";
  const manifests = carriedBy(work).map((ref) => ({
    apiVersion: ref.apiVersion,
    kind: ref.kind,
    metadata: { namespace: ref.namespace, name: ref.name },
  }));
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(generation !== undefined && { generation }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(bindingId !== undefined && { labels: { [BINDING_ID]: bindingId } }),
      ...(isAdopted && { annotations: { [MARKS.adopted]: "true" } }),
    },
    spec: { workload: { manifests } },
  };
}

/** This many are named; the others need the same commands. */
const NAMED_RIVALS = 3;

/** The message for users, with the remedy. */
export function rivalWords(
  { template }: EngineApp,
  rivals: readonly KubeObject[],
): { readonly message: string; readonly remedy: string } {
  const what = `${template.kind} ${template.namespace}/${template.name}`;
  const named = rivals.slice(0, NAMED_RIVALS).map(({ metadata }) => {
    const cluster = clusterOfNamespace(metadata.namespace ?? "");
    return `Work ${metadata.namespace}/${metadata.name} (cluster ${cluster}${ownerWords(metadata)})`;
  });
  const more = rivals.length > named.length ? ` and ${rivals.length - named.length} more` : "";
  const [first] = rivals;
  const where = `${first?.metadata.name} -n ${first?.metadata.namespace}`;
  return {
    message: `${what} is also delivered by ${named.join(", ")}${more}, without a grant; Lockstep grants nothing until only Lockstep delivers it`,
    remedy:
      `delete each such Work and keep what it delivered: kubectl patch work ${where} --type merge ` +
      `-p '{"spec":{"preserveResourcesOnDeletion":true}}', then kubectl delete work ${where}`,
  };
}

function ownerWords({ annotations }: KubeObject["metadata"]): string {
  const [namespace, name] = [annotations?.[MARKS.appNamespace], annotations?.[MARKS.appName]];
  return namespace === undefined || name === undefined ? "" : `, of CrossClusterStatefulset ${namespace}/${name}`;
}
