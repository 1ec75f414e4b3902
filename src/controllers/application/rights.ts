import { type KubeClient, type KubeObject, resource } from "../../kube/index.ts";
import { type Clock, isJsonObject, type JsonObject, LruMap } from "../../runtime/index.ts";
import type { Part } from "./content.ts";
import { kindId, type ServedKind } from "./kinds.ts";

const REVIEWS = resource({
  apiVersion: "authorization.k8s.io/v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false,
});
const ROLES: ReadonlyMap<string, string> = new Map([
  ["Role", "roles"],
  ["ClusterRole", "clusterroles"],
]);
const BINDINGS: ReadonlySet<string> = new Set(["RoleBinding", "ClusterRoleBinding"]);
const RBAC_GROUP = "rbac.authorization.k8s.io";
/** A right that was taken away stops the next write within this time; asking for every write would load the hub. */
const REMEMBERED_MS = 30_000;
const REMEMBERED_MAX = 10_000;
/** Messages name so many missing rights. */
const LISTED_MAX = 20;

interface Asked {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name?: string;
}

/** Who an application acts for: everything that it distributes must be allowed to its ServiceAccount on the hub. */
export class Rights {
  readonly #hub: KubeClient;
  readonly #clock: Clock;
  readonly #known = new LruMap<string, { readonly allowed: boolean; readonly atMs: number }>(REMEMBERED_MAX);

  constructor(hub: KubeClient, clock: Clock) {
    this.#hub = hub;
    this.#clock = clock;
  }

  /** Every right that is missing, in words; empty: all is allowed. */
  async missing(
    account: { readonly namespace: string; readonly name: string },
    parts: readonly Part[],
    kinds: ReadonlyMap<string, ServedKind>,
    /** Those of which Lockstep makes a copy on the hub, in the account's namespace. */
    copied: readonly Part[] = [],
  ): Promise<string[]> {
    const user = `system:serviceaccount:${account.namespace}:${account.name}`;
    const asked = new Map<string, Asked>();
    const unknown = new Set<string>();
    const names = new Map<string, Set<string>>();
    for (const part of parts) {
      const kind = kinds.get(kindId(part.object));
      // Without its plural no right can be asked for, so none is there: the kind may have vanished from the hub.
      if (!kind) {
        unknown.add(
          `distribute ${part.object.kind} of ${part.object.apiVersion}, which neither the hub nor a cluster that can be asked serves now`,
        );
        continue;
      }
      for (const each of neededFor(part, kind)) asked.set(JSON.stringify(each), each);
      if (kind.namespaced) continue;
      const id = JSON.stringify(distributeOf(kind, ""));
      names.set(id, (names.get(id) ?? new Set()).add(part.object.metadata.name));
    }
    for (const { object } of copied) {
      const kind = kinds.get(kindId(object));
      if (!kind) continue;
      const { group, plural } = kind;
      const each: Asked = { verb: "create", group, resource: plural, namespace: account.namespace };
      asked.set(JSON.stringify(each), each);
    }
    const found = [...unknown];
    const isAllowed = (each: Asked) => this.#allowed(user, account.namespace, each);
    for (const [id, each] of asked) {
      if (await isAllowed(each)) continue;
      // Of kinds without a namespace, a role may allow single objects: the one Namespace that a tenant may use.
      const refused: Asked[] = [];
      const own = [...(names.get(id) ?? [])].map((name) => ({ ...each, name }));
      for (const one of own) if (!(await isAllowed(one))) refused.push(one);
      found.push(...(refused.length === own.length ? [each] : refused).map(textOf));
    }
    const rest = found.length - LISTED_MAX;
    return rest > 0 ? [...found.slice(0, LISTED_MAX), `${rest} more`] : found;
  }

  async #allowed(user: string, namespace: string, asked: Asked): Promise<boolean> {
    const id = JSON.stringify([user, asked]);
    const nowMs = this.#clock.monotonicMs();
    const known = this.#known.get(id);
    if (known && nowMs - known.atMs < REMEMBERED_MS) return known.allowed;
    const { verb, group, resource: plural, namespace: where, name } = asked;
    const { status } = await this.#hub.review(REVIEWS, {
      user,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
      resourceAttributes: { verb, group, resource: plural, namespace: where, ...(name !== undefined && { name }) },
    });
    const allowed = isJsonObject(status) && status.allowed === true && status.denied !== true;
    this.#known.set(id, { allowed, atMs: nowMs });
    return allowed;
  }
}

function distributeOf({ group, plural }: ServedKind, namespace: string): Asked {
  return { verb: "distribute", group, resource: plural, namespace };
}

function neededFor({ object }: Part, served: ServedKind): Asked[] {
  const { group, plural } = served;
  const namespace = served.namespaced ? (object.metadata.namespace ?? "") : "";
  const needed: Asked[] = [distributeOf(served, namespace)];
  // A role or a binding gives rights away: the same verbs guard that as inside one cluster. By the kind as well as by the
  // plural, because a source's own definition may name another plural for a version that some clusters still serve.
  if (group !== RBAC_GROUP) return needed;
  const { kind, metadata } = object;
  if (plural === "roles" || plural === "clusterroles" || ROLES.has(kind)) {
    const given = ROLES.get(kind) ?? plural;
    needed.push({ verb: "escalate", group, resource: given, namespace, name: metadata.name });
  }
  if (plural === "rolebindings" || plural === "clusterrolebindings" || BINDINGS.has(kind)) {
    const { kind: of, name } = roleRefOf(object);
    const bound = of === "ClusterRole" ? "clusterroles" : "roles";
    needed.push({ verb: "bind", group, resource: bound, namespace, name: String(name ?? "") });
  }
  return needed;
}

function roleRefOf({ roleRef }: KubeObject): JsonObject {
  return isJsonObject(roleRef) ? roleRef : {};
}

function textOf({ verb, group, resource: plural, namespace, name }: Asked): string {
  const what = `${plural}${group === "" ? "" : `.${group}`}${name === undefined ? "" : ` ${name}`}`;
  return `${verb} ${what}${namespace === "" ? "" : ` in namespace ${namespace}`}`;
}
