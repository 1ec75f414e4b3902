import type { AppliedOverride, OverrideError } from "./overrides.ts";

/** What keeps a member's manifests from being rendered; nothing is then written to that member. */
export type RenderError = OverrideError | OverrideTouchesGrantError | LimitError | RenderInputError;

/** Thrown when an override changes a field that the grant decides: the member would not run its grant. */
export class OverrideTouchesGrantError extends Error {
  override readonly name = "OverrideTouchesGrantError";
  readonly policy: string;
  readonly rule: string;
  readonly path: string;
  readonly cluster: string;
  constructor({ policy, rule }: AppliedOverride, path: string, cluster: string, object: string) {
    super(
      `${policy}, ${rule}: it changes ${path} of ${object} for cluster ${cluster}, which is granted cluster by cluster; ` +
        "take that out of the policy; counts, order and partition belong into the CrossClusterStatefulset's spec",
    );
    this.policy = policy;
    this.rule = rule;
    this.path = path;
    this.cluster = cluster;
  }
}

/** Thrown when Kubernetes would refuse an object for its size or for a name in it. */
export class LimitError extends Error {
  override readonly name = "LimitError";
  readonly object: string;
  readonly field: string;
  /** In the unit that the message names. */
  readonly actual: number;
  readonly limit: number;
  constructor(object: string, field: string, problem: string, remedy: string, actual: number, limit: number) {
    super(`${object}: ${field} ${problem}; ${remedy}`);
    this.object = object;
    this.field = field;
    this.actual = actual;
    this.limit = limit;
  }
}

/** Thrown when what should be rendered does not fit together: a revision, grant or topology that is not the other's. */
export class RenderInputError extends Error {
  override readonly name = "RenderInputError";
}
