import type { RegistryView, ResourceDefinition } from "../types.ts";

export function apiVersionOf(definition: { group: string; version: string }): string {
  return definition.group === "" ? definition.version : `${definition.group}/${definition.version}`;
}

/** The name in errors: `statefulsets.apps`, `pods`. */
export function qualifiedResource(definition: { group: string; plural: string }): string {
  return definition.group === "" ? definition.plural : `${definition.plural}.${definition.group}`;
}

/** The name in "is invalid" errors: `StatefulSet.apps`, `Pod`. */
export function qualifiedKind(definition: { group: string; kind: string }): string {
  return definition.group === "" ? definition.kind : `${definition.kind}.${definition.group}`;
}

const byRoute = (group: string, version: string, plural: string) => `${group}/${version}/${plural}`;

/** The served kinds: built-in ones from the start, those of CRDs as they come and go. */
export class Registry implements RegistryView {
  revision = 1;
  /** In order of registration, which is the order of discovery. */
  readonly #routes = new Map<string, ResourceDefinition>();
  readonly #kinds = new Map<string, ResourceDefinition>();
  /** Per storage, the definition whose version is stored. */
  readonly #storage = new Map<string, ResourceDefinition>();

  constructor(builtIn: readonly ResourceDefinition[]) {
    for (const definition of builtIn) this.#add(definition);
  }

  groups(): { group: string; versions: string[] }[] {
    const groups = new Map<string, Set<string>>();
    for (const { group, version } of this.#routes.values()) {
      const versions = groups.get(group) ?? new Set();
      groups.set(group, versions.add(version));
    }
    return [...groups].map(([group, versions]) => ({ group, versions: [...versions].sort(comparePriority) }));
  }

  definitions(group: string, version: string): ResourceDefinition[] {
    return [...this.#routes.values()].filter((each) => each.group === group && each.version === version);
  }

  find(group: string, version: string, plural: string): ResourceDefinition | undefined {
    return this.#routes.get(byRoute(group, version, plural));
  }

  findKind(apiVersion: string, kind: string): ResourceDefinition | undefined {
    return this.#kinds.get(`${apiVersion}/${kind}`);
  }

  /** A served version's definition of a storage; the stored version's if it is served. */
  findStorage(resource: string): ResourceDefinition | undefined {
    return this.#storage.get(resource);
  }

  /** Every kind once, in order of registration. */
  storages(): IterableIterator<ResourceDefinition> {
    return this.#storage.values();
  }

  /** Replaces all versions of one custom resource; an empty list removes it. */
  replace(resource: string, definitions: readonly ResourceDefinition[]): void {
    for (const [route, each] of this.#routes) if (each.resource === resource) this.#routes.delete(route);
    for (const [kind, each] of this.#kinds) if (each.resource === resource) this.#kinds.delete(kind);
    this.#storage.delete(resource);
    for (const definition of definitions) this.#add(definition);
    this.revision += 1;
  }

  #add(definition: ResourceDefinition): void {
    const { group, version, plural, kind, resource } = definition;
    this.#routes.set(byRoute(group, version, plural), definition);
    this.#kinds.set(`${apiVersionOf(definition)}/${kind}`, definition);
    if (!this.#storage.has(resource) || definition.storageApiVersion === apiVersionOf(definition)) {
      this.#storage.set(resource, definition);
    }
  }
}

/** Kubernetes' order of versions: v2 before v1 before v1beta1 before v1alpha1 before anything else by name. */
export function comparePriority(left: string, right: string): number {
  const [a, b] = [rank(left), rank(right)];
  for (let index = 0; index < a.length; index++) {
    const difference = (b[index] ?? 0) - (a[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return left < right ? -1 : left > right ? 1 : 0;
}

function rank(version: string): number[] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (!match) return [0, 0, 0];
  const stability = match[2] === undefined ? 3 : match[2] === "beta" ? 2 : 1;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}
