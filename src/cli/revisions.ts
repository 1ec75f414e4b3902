import { appLabel, HUB_MARKS, REVISIONS } from "../controllers/index.ts";
import { type KubeObject, resource } from "../kube/index.ts";
import type { RevisionContent } from "../render/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import type { Hub } from "./hub.ts";

const SECRETS = resource({ apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true });

export interface KeptRevision {
  readonly id: string;
  readonly number: number;
  readonly createdAt: string | undefined;
  /** Without Secrets' content. */
  readonly content: RevisionContent;
  readonly hasSecrets: boolean;
}

/** The revisions that the controller keeps for one object, newest first. */
export async function listRevisions(hub: Hub, name: { namespace: string; name: string }): Promise<KeptRevision[]> {
  const { items } = await hub.client.listAll(REVISIONS, {
    namespace: name.namespace,
    labelSelector: `${HUB_MARKS.app}=${appLabel(name.name)}`,
    ...hub.request,
  });
  return items.flatMap((object) => readRevision(object) ?? []).sort((a, b) => b.number - a.number);
}

function readRevision(object: KubeObject): KeptRevision | undefined {
  const data = isJsonObject(object.data) ? object.data : {};
  const content = readContent(data.content);
  if (!content) return undefined;
  const created = object.metadata.creationTimestamp;
  return {
    id: object.metadata.name,
    number: typeof object.revision === "number" ? object.revision : 0,
    createdAt: typeof created === "string" ? created : undefined,
    content,
    hasSecrets: data.hasSecrets === true,
  };
}

function readContent(value: Json | undefined): RevisionContent | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.template)) return undefined;
  const list = (items: Json | undefined) => (Array.isArray(items) ? items.filter(isJsonObject) : []);
  const { restart, dependencyDigest } = value;
  return {
    template: value.template,
    dependencies: list(value.dependencies),
    overrides: list(value.overrides),
    ...(typeof restart === "string" && { restart }),
    ...(typeof dependencyDigest === "string" && { dependencyDigest }),
  };
}

/** The content with the Secrets kept beside it, as the controller renders it. Throws what reading them throws. */
export async function wholeContent(hub: Hub, namespace: string, kept: KeptRevision): Promise<RevisionContent> {
  if (!kept.hasSecrets) return kept.content;
  const secret = await hub.client.get(SECRETS, { namespace, name: kept.id }, hub.request);
  const data = isJsonObject(secret.data) ? secret.data.content : undefined;
  const parsed: unknown = typeof data === "string" ? JSON.parse(Buffer.from(data, "base64").toString("utf8")) : [];
  const secrets = Array.isArray(parsed) ? parsed.filter(isJsonObject) : [];
  const dependencies = [...kept.content.dependencies, ...secrets].sort(byKindAndName);
  return { ...kept.content, dependencies };
}

function byKindAndName(a: JsonObject, b: JsonObject): number {
  const key = (object: JsonObject) => `${object.kind} ${isJsonObject(object.metadata) ? object.metadata.name : ""}`;
  return key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0;
}

/** What one revision changed against another, a line for each field. Values are shortened; Secrets' are never shown. */
export function changesBetween(before: RevisionContent, after: RevisionContent): string[] {
  const lines: string[] = [];
  fieldChanges("", before.template, after.template, lines);
  const objects = (content: RevisionContent) =>
    new Map([...content.dependencies, ...content.overrides].map((object) => [objectName(object), object]));
  const [old, now] = [objects(before), objects(after)];
  const others: string[] = [];
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    if (!old.has(name)) others.push(`${name}: added`);
    else if (!now.has(name)) others.push(`${name}: removed`);
    else fieldChanges(`${name} `, old.get(name), now.get(name), others);
  }
  lines.push(...others);
  if (before.restart !== after.restart) lines.push(`restarted at ${after.restart ?? "no time any more"}`);
  if (lines.length === 0 && before.dependencyDigest !== after.dependencyDigest) {
    lines.push("content of a Secret or another dependency");
  }
  return lines;
}

function objectName(object: JsonObject): string {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  return `${object.kind} ${metadata.name}`;
}

/** A longer value says little in one line. */
const VALUE_CHARS = 60;

function fieldChanges(path: string, before: Json | undefined, after: Json | undefined, lines: string[]): void {
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  if (isJsonObject(before) && isJsonObject(after)) {
    const dot = path === "" || path.endsWith(" ") ? "" : ".";
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      fieldChanges(`${path}${dot}${key}`, before[key], after[key], lines);
    }
    return;
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    before.forEach((item, index) => {
      fieldChanges(`${path}[${index}]`, item, after[index], lines);
    });
    return;
  }
  lines.push(`${path}: ${short(before)} -> ${short(after)}`);
}

function short(value: Json | undefined): string {
  if (value === undefined) return "(none)";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= VALUE_CHARS ? text : `${text.slice(0, VALUE_CHARS - 3)}...`;
}
