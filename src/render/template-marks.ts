import { createHash } from "node:crypto";
import type { TemplateMarks } from "../plan/index.ts";
import { clone, type JsonObject } from "../runtime/index.ts";
import { ensureObject, kindAndName, meaningText, objectAt, stringAt } from "./json.ts";
import type { RevisionContent } from "./revision.ts";
import { RESTART_ANNOTATION } from "./workload.ts";

/** The annotation that `kubectl rollout restart` writes into a pod template. */
const KUBECTL_RESTART_ANNOTATION = "kubectl.kubernetes.io/restartedAt";
const RESTART_ANNOTATIONS = [KUBECTL_RESTART_ANNOTATION, RESTART_ANNOTATION];
const POD_METADATA = ["spec", "template", "metadata"] as const;

/** [F6] The part of a revision that is the template's own content, and its restarts. */
export function templateMarks({ template, restart }: RevisionContent): TemplateMarks {
  const { metadata: _metadata, ...own } = withPodMark(template, undefined);
  const digest = createHash("sha256").update(meaningText(own)).digest("base64url");
  return { digest, restart: JSON.stringify([restart ?? null, podMark(template) ?? null]) };
}

/**
 * [U10] The same content with the restart marks of another revision: the content in force, restarted as the template
 * requests.
 */
export function withRestartMarks(content: RevisionContent, { template, restart }: RevisionContent): RevisionContent {
  const { restart: _before, ...rest } = content;
  return {
    ...rest,
    template: withPodMark(content.template, podMark(template)),
    ...(restart !== undefined && { restart }),
  };
}

/** What differs between two revisions of one template, except its own content: each object by its kind and name. */
export function changedBeside(before: RevisionContent, after: RevisionContent): string[] {
  const objects = ({ dependencies, overrides }: RevisionContent) =>
    new Map([...dependencies, ...overrides].map((object) => [kindAndName(object), meaningText(object)]));
  const [old, now] = [objects(before), objects(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])].filter((name) => old.get(name) !== now.get(name));
  const marks = ({ template }: RevisionContent) => meaningText(objectAt(template, "metadata"));
  const isMarked = marks(before) !== marks(after);
  return [...names, ...(isMarked ? [`labels or annotations of ${kindAndName(after.template)}`] : [])];
}

function podMark(template: JsonObject): string | undefined {
  return stringAt(template, ...POD_METADATA, "annotations", KUBECTL_RESTART_ANNOTATION);
}

/** The template with this mark of kubectl, and no other restart mark, on its pods. */
function withPodMark(template: JsonObject, mark: string | undefined): JsonObject {
  const result = clone(template);
  const metadata = objectAt(result, ...POD_METADATA);
  const annotations = objectAt(result, ...POD_METADATA, "annotations");
  for (const key of RESTART_ANNOTATIONS) delete annotations?.[key];
  if (mark !== undefined) ensureObject(result, ...POD_METADATA, "annotations")[KUBECTL_RESTART_ANNOTATION] = mark;
  else if (metadata && annotations && Object.keys(annotations).length === 0) delete metadata.annotations;
  return result;
}
