import type { AppliedOverride, OverrideError } from "./overrides.ts";

/** Errors that prevent rendering a member's manifests; nothing is then written to that member. */
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
        "remove that from the policy; counts, order and partition belong in the CrossClusterStatefulset's spec",
    );
    this.policy = policy;
    this.rule = rule;
    this.path = path;
    this.cluster = cluster;
  }
}

/** Thrown when Kubernetes would refuse an object because of its size or a name in it. */
export class LimitError extends Error {
  override readonly name = "LimitError";
  readonly object: string;
  readonly field: string;
  /** In the unit of the message. */
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

/** Thrown when the inputs do not belong together: a revision, grant or topology of another application or version. */
export class RenderInputError extends Error {
  override readonly name = "RenderInputError";
}
