import type { RegistryView, ResourceDefinition } from "../types.ts";

/** A resource definition for tests, with simple defaults. */
export function definitionOf(given: Partial<ResourceDefinition> & { group: string; kind: string }): ResourceDefinition {
  const plural = given.plural ?? `${given.kind.toLowerCase()}s`;
  const version = given.version ?? "v1";
  return {
    version,
    listKind: `${given.kind}List`,
    plural,
    singular: given.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    namespaced: true,
    verbs: ["create", "delete", "get", "list", "patch", "update", "watch"],
    subresources: {},
    resource: `${given.group}/${plural}`,
    builtIn: true,
    storageApiVersion: given.group === "" ? version : `${given.group}/${version}`,
    columns: [],
    shape: {},
    strategy: {},
    ...given,
  };
}

/** A registry of only these. */
export function registryOf(definitions: readonly ResourceDefinition[]): RegistryView {
  const groups = [...new Set(definitions.map((each) => each.group))];
  const versions = (group: string) => [
    ...new Set(definitions.filter((each) => each.group === group).map((each) => each.version)),
  ];
  return {
    revision: 1,
    groups: () => groups.map((group) => ({ group, versions: versions(group) })),
    definitions: (group, version) => definitions.filter((each) => each.group === group && each.version === version),
    find: (group, version, plural) =>
      definitions.find((each) => each.group === group && each.version === version && each.plural === plural),
    findKind: (apiVersion, kind) =>
      definitions.find((each) => each.storageApiVersion === apiVersion && each.kind === kind),
  };
}
